package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Hash is the first half of the SHA-256 of a canonical definition.
type Hash [16]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

func hashOf(definition []byte) Hash {
	sum := sha256.Sum256(definition)
	return Hash(sum[:16])
}

// DefinitionHash returns the hash by which the definition of a tool is known.
func DefinitionHash(raw []byte) [16]byte { return hashOf(canonical(raw)) }

// unhashedMembers are the members of a tool or prompt that are not hashed: the name is the key of
// the record, and the others are not shown to the model.
var unhashedMembers = []string{"name", "_meta", "icons"}

// resourceMembers are the hashed members of a resource or template. The others, such as its size,
// change with its content.
var resourceMembers = []string{"name", "title", "description"}

// maxNesting is the maximum depth of JSON that canonical sorts. Deeper JSON is hashed as it is.
const maxNesting = 200

var errDeep = errors.New("nested too deeply")

// canonicalDefinition returns the canonical definition of an item of a kind.
func canonicalDefinition(kind string, raw []byte) []byte {
	if kind == Resource || kind == Template {
		return canonicalWithout(raw, func(member string) bool { return !slices.Contains(resourceMembers, member) })
	}
	return canonical(raw)
}

// canonical returns a tool's JSON with sorted keys and without white space. Duplicate keys are
// preserved, because clients differ in which one they use.
func canonical(raw []byte) []byte {
	return canonicalWithout(raw, func(member string) bool { return slices.Contains(unhashedMembers, member) })
}

func canonicalWithout(raw []byte, skip func(member string) bool) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	out, err := appendCanonical(d, make([]byte, 0, len(raw)), 0, skip)
	if err != nil {
		return bytes.Clone(raw)
	}
	return out
}

func appendCanonical(d *json.Decoder, out []byte, depth int, skip func(string) bool) ([]byte, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, nested := token.(json.Delim)
	if !nested {
		text, err := json.Marshal(token)
		return append(out, text...), err
	}
	if depth == maxNesting {
		return nil, errDeep
	}
	if delim == '[' {
		out = append(out, '[')
		for n := 0; d.More(); n++ {
			if n > 0 {
				out = append(out, ',')
			}
			if out, err = appendCanonical(d, out, depth+1, skip); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return append(out, ']'), err
	}
	type member struct {
		key   string
		value []byte
	}
	var members []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, errors.New("a key is not a string")
		}
		value, err := appendCanonical(d, nil, depth+1, skip)
		if err != nil {
			return nil, err
		}
		if depth == 0 && skip(name) {
			continue
		}
		members = append(members, member{name, value})
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	out = append(out, '{')
	for n, m := range members {
		if n > 0 {
			out = append(out, ',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, key...), ':'), m.value...)
	}
	return append(out, '}'), nil
}

// Limits of Text.
const (
	maxLines = 2000
	maxLine  = 1000 // characters
)

// Text formats a definition as lines for the user: each value with its path, and with invisible
// characters escaped by Visible.
func Text(definition []byte) []string {
	if len(definition) == 0 {
		return nil
	}
	var value any
	var lines []string
	if core.DecodeJSON(definition, &value) != nil {
		lines = appendText("", string(definition), lines)
	} else {
		lines = appendValue("", value, lines)
	}
	if len(lines) > maxLines {
		lines = append(lines[:maxLines], "… and more")
	}
	return lines
}

// memberOrder lists the members that Text shows first.
var memberOrder = []string{"title", "description", "annotations", "inputSchema", "outputSchema"}

func appendValue(path string, value any, lines []string) []string {
	if len(lines) > maxLines {
		return lines
	}
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		slices.SortFunc(keys, func(a, b string) int {
			if path == "" {
				x, y := slices.Index(memberOrder, a), slices.Index(memberOrder, b)
				if x < 0 {
					x = len(memberOrder)
				}
				if y < 0 {
					y = len(memberOrder)
				}
				if x != y {
					return x - y
				}
			}
			return strings.Compare(a, b)
		})
		if len(keys) == 0 {
			return append(lines, path+": {}")
		}
		for _, key := range keys {
			at := Visible(key)
			if path != "" {
				at = path + "." + at
			}
			lines = appendValue(at, v[key], lines)
		}
		return lines
	case []any:
		if text, err := json.Marshal(v); err == nil && len(text) < 200 {
			return append(lines, path+": "+Visible(string(text)))
		}
		for i, one := range v {
			lines = appendValue(fmt.Sprintf("%s[%d]", path, i), one, lines)
		}
		return lines
	case string:
		return appendText(path, v, lines)
	default:
		return append(lines, fmt.Sprintf("%s: %v", path, v))
	}
}

// appendText appends a string value and its path, on several lines if it contains line breaks or is
// long. No character is left out: the user approves what these lines show.
func appendText(path, text string, lines []string) []string {
	var parts []string
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		part = Visible(part)
		for piece := core.CutChars(part, maxLine); piece != part; piece = core.CutChars(part, maxLine) {
			parts, part = append(parts, piece), part[len(piece):]
		}
		parts = append(parts, part)
	}
	if len(parts) == 1 && path != "" {
		return append(lines, path+": "+parts[0])
	}
	if path != "" {
		lines = append(lines, path+":")
	}
	for _, part := range parts {
		lines = append(lines, "    "+part)
	}
	return lines
}
