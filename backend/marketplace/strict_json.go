package marketplace

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// maxNesting is deeper than any legitimate record, manifest or configuration.
const maxNesting = 40

// CheckStrictJSON rejects JSON text that two parsers could interpret differently: duplicate keys
// (ignoring case), excessive nesting, and more than one value. This ensures that what the user was
// shown is what gets installed.
func CheckStrictJSON(what string, src []byte) error {
	type level struct {
		keys  map[string]bool // nil in an array
		value bool            // the next token is a value
	}
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var open []level
	for {
		t, err := d.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err != nil {
			return validationErrorf("cannot read %s: %v", what, err)
		}
		var top *level
		if len(open) > 0 {
			top = &open[len(open)-1]
		}
		if key, ok := t.(string); ok && top != nil && top.keys != nil && !top.value {
			folded := strings.ToLower(key)
			if top.keys[folded] {
				return validationErrorf("%s contains %q twice", what, truncate(key))
			}
			top.keys[folded], top.value = true, true
			continue
		}
		if top != nil {
			top.value = false
		}
		switch t {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxNesting {
			return validationErrorf("%s is nested deeper than %d levels", what, maxNesting)
		}
		if len(open) == 0 {
			if _, err := d.Token(); err != io.EOF {
				return validationErrorf("%s contains more than one value", what)
			}
			return nil
		}
	}
}
