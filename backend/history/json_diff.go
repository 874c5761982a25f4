package history

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Change is one difference between two JSON texts.
type Change struct {
	Path   string `json:"path" doc:"JSON Pointer, \"\" for the whole"`
	Kind   string `json:"kind" enum:"added,removed,changed"`
	Before string `json:"before,omitempty" doc:"JSON text"`
	After  string `json:"after,omitempty" doc:"JSON text"`
}

// maxChanges is the maximum number of differences that Compare returns.
const maxChanges = 1000

// Compare returns the differences between two JSON texts, ordered by path. If one of the texts is
// not valid JSON, for example because it was truncated, they are compared as a whole. more means
// that there are more than maxChanges differences.
func Compare(a, b []byte) (changes []Change, more bool) {
	x, okX := decode(a)
	y, okY := decode(b)
	if !okX || !okY {
		if bytes.Equal(a, b) {
			return nil, false
		}
		return []Change{wholeChange(a, b)}, false
	}
	d := differ{}
	d.compare("", x, y)
	return d.changes, d.more
}

func wholeChange(a, b []byte) Change {
	quote := func(text []byte) string {
		if len(text) == 0 {
			return ""
		}
		if json.Valid(text) {
			return string(text)
		}
		return encode(string(text))
	}
	c := Change{Kind: "changed", Before: quote(a), After: quote(b)}
	if len(a) == 0 {
		c.Kind = "added"
	}
	if len(b) == 0 {
		c.Kind = "removed"
	}
	return c
}

// decode parses JSON. Numbers keep their spelling.
func decode(text []byte) (any, bool) {
	var v any
	err := core.DecodeJSON(text, &v)
	return v, err == nil
}

func encode(v any) string {
	text, _ := core.EncodeJSON(v)
	return string(text)
}

// newChanges returns how now differs from before, without the parts in which two results of the same version
// differ, before and again; unstable has their paths. The JSON in strings is compared by its parts.
func newChanges(before, again, now []byte) (changes []Change, unstable []string) {
	of := func(text []byte) []Change {
		d := differ{insideText: true}
		d.compare("", decodeOrText(before), decodeOrText(text))
		return d.changes
	}
	for _, c := range of(again) {
		unstable = append(unstable, c.Path)
	}
	changes = slices.DeleteFunc(of(now), func(c Change) bool {
		return slices.ContainsFunc(unstable, func(path string) bool { return c.Path == path || strings.HasPrefix(c.Path, path+"/") })
	})
	return changes, unstable
}

// decodeContainer decodes a string that contains a JSON object or list.
func decodeContainer(text string) (any, bool) {
	if text = strings.TrimSpace(text); text == "" || text[0] != '{' && text[0] != '[' {
		return nil, false
	}
	return decode([]byte(text))
}

func decodeOrText(text []byte) any {
	if v, ok := decode(text); ok {
		return v
	}
	return string(text)
}

// differ collects the differences between two values.
type differ struct {
	insideText bool // compare the JSON in strings by its parts
	changes    []Change
	more       bool
}

func (d *differ) add(c Change) {
	if len(d.changes) == maxChanges {
		d.more = true
		return
	}
	d.changes = append(d.changes, c)
}

func (d *differ) compare(path string, known, value any) {
	switch k := known.(type) {
	case string:
		if text, ok := value.(string); ok && text != k && d.insideText && d.compareInside(path, k, text) {
			return
		}
	case map[string]any:
		if v, ok := value.(map[string]any); ok {
			d.objects(path, k, v)
			return
		}
	case []any:
		if v, ok := value.([]any); ok {
			d.lists(path, k, v)
			return
		}
	}
	if before, after := encode(known), encode(value); before != after {
		d.add(Change{path, "changed", before, after})
	}
}

// compareInside compares two different strings that contain JSON. It reports false if that finds no
// difference.
func (d *differ) compareInside(path, known, text string) bool {
	before, ok := decodeContainer(known)
	after, isJSON := decodeContainer(text)
	if !ok || !isJSON || d.more {
		return false
	}
	n := len(d.changes)
	d.compare(path, before, after)
	return len(d.changes) > n || d.more
}

func (d *differ) objects(path string, known, value map[string]any) {
	keys := maps.Clone(known)
	maps.Copy(keys, value)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		k, before := known[key]
		v, after := value[key]
		at := path + "/" + escapePointer(key)
		switch {
		case before && after:
			d.compare(at, k, v)
		case after:
			d.add(Change{Path: at, Kind: "added", After: encode(v)})
		default:
			d.add(Change{Path: at, Kind: "removed", Before: encode(k)})
		}
	}
}

func (d *differ) lists(path string, known, value []any) {
	for i := range max(len(known), len(value)) {
		at := path + "/" + strconv.Itoa(i)
		switch {
		case i >= len(known):
			d.add(Change{Path: at, Kind: "added", After: encode(value[i])})
		case i >= len(value):
			d.add(Change{Path: at, Kind: "removed", Before: encode(known[i])})
		default:
			d.compare(at, known[i], value[i])
		}
	}
}

func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
