package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	if len(text) == 0 {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err == nil && !d.More()
}

func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

type differ struct {
	changes []Change
	more    bool
}

func (d *differ) add(c Change) {
	if len(d.changes) == maxChanges {
		d.more = true
		return
	}
	d.changes = append(d.changes, c)
}

func (d *differ) compare(path string, x, y any) {
	switch a := x.(type) {
	case map[string]any:
		if b, ok := y.(map[string]any); ok {
			d.objects(path, a, b)
			return
		}
	case []any:
		if b, ok := y.([]any); ok {
			d.lists(path, a, b)
			return
		}
	}
	if before, after := encode(x), encode(y); before != after {
		d.add(Change{path, "changed", before, after})
	}
}

func (d *differ) objects(path string, a, b map[string]any) {
	keys := maps.Clone(a)
	maps.Copy(keys, b)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, inA := a[key]
		y, inB := b[key]
		at := path + "/" + escapePointer(key)
		switch {
		case !inA:
			d.add(Change{Path: at, Kind: "added", After: encode(y)})
		case !inB:
			d.add(Change{Path: at, Kind: "removed", Before: encode(x)})
		default:
			d.compare(at, x, y)
		}
	}
}

func (d *differ) lists(path string, a, b []any) {
	for i := range max(len(a), len(b)) {
		at := path + "/" + strconv.Itoa(i)
		switch {
		case i >= len(a):
			d.add(Change{Path: at, Kind: "added", After: encode(b[i])})
		case i >= len(b):
			d.add(Change{Path: at, Kind: "removed", Before: encode(a[i])})
		default:
			d.compare(at, a[i], b[i])
		}
	}
}

func escapePointer(key string) string {
	var b bytes.Buffer
	for _, c := range key {
		switch c {
		case '~':
			b.WriteString("~0")
		case '/':
			b.WriteString("~1")
		default:
			fmt.Fprintf(&b, "%c", c)
		}
	}
	return b.String()
}
