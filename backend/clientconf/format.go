package clientconf

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
)

// document is a client's file, parsed only as far as needed to locate entries. Edits leave
// every byte outside the inserted or removed entry unchanged.
type document interface {
	// entry returns the entry with this name: its bytes in the file, and the same as JSON.
	// Both are nil if it does not exist.
	entry(path []string, name string) (raw []byte, value json.RawMessage, err error)
	// set returns the file with the entry inserted or replaced.
	set(path []string, name string, value json.RawMessage) ([]byte, error)
	// remove returns the file without the entry. ok is false if it does not exist.
	remove(path []string, name string) (out []byte, ok bool, err error)
	// replace returns the file with the bytes of an existing entry replaced by raw.
	replace(path []string, name string, raw []byte) ([]byte, error)
	// decode returns the decoded file. Numbers keep their digits.
	decode() (map[string]any, error)
}

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// source is the text of a client's file.
type source struct {
	bom     []byte // the byte order mark, or nil
	src     []byte // the text after it
	newline string
}

func newSource(file []byte) source {
	s := source{src: file, newline: "\n"}
	if text, ok := bytes.CutPrefix(file, utf8BOM); ok {
		s.bom, s.src = utf8BOM, text
	}
	if bytes.Contains(s.src, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	return s
}

// splice returns the file with src[start:end] replaced.
func (s *source) splice(start, end int, with string) []byte {
	return slices.Concat(s.bom, s.src[:start], []byte(with), s.src[end:])
}

// parse parses src as leniently as the client does. An empty file is an empty document.
func parse(src []byte, client Client) (document, error) {
	switch client.Format {
	case TOML:
		return parseTOML(src, client)
	case YAML:
		return parseYAML(src, client)
	}
	return parseJSON(src, client)
}

// editable reports whether files of the client can be edited. If not, the user gets a
// snippet.
func editable(c Client) bool {
	return c.Format == TOML || c.Format == YAML || c.ContainerKind == ""
}

// sameExcept reports whether before and after have the same content except for the edited entries. It
// is the last check before a write.
func sameExcept(before, after document, edits []edit) bool {
	if x, isJSON := before.(*jsonFile); isJSON {
		y, both := after.(*jsonFile)
		return both && x.sameExcept(y, edits)
	}
	a, errA := before.decode()
	b, errB := after.decode()
	if errA != nil || errB != nil || a == nil || b == nil {
		return false
	}
	for _, e := range edits {
		stripEntry(a, e.path, e.name)
		stripEntry(b, e.path, e.name)
	}
	return reflect.DeepEqual(a, b)
}

func decodeFile(src []byte, client Client) (map[string]any, bool) {
	d, err := parse(src, client)
	if err != nil {
		return nil, false
	}
	m, err := d.decode()
	return m, err == nil && m != nil
}

// valueAt returns the value at path in a decoded file, or nil.
func valueAt(m map[string]any, path []string) any {
	var v any = m
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

// stripEntry removes the entry path/name from m, and the containers on the path that are empty
// afterwards. A container may be a list of entries that carry their name.
func stripEntry(m map[string]any, path []string, name string) {
	if len(path) == 0 {
		delete(m, name)
		return
	}
	switch child := m[path[0]].(type) {
	case nil:
		delete(m, path[0])
	case map[string]any:
		stripEntry(child, path[1:], name)
		if len(child) == 0 {
			delete(m, path[0])
		}
	case []any:
		var rest []any
		for _, e := range child {
			if e, ok := e.(map[string]any); ok && e["name"] == name {
				continue
			}
			rest = append(rest, e)
		}
		m[path[0]] = rest
		if len(rest) == 0 {
			delete(m, path[0])
		}
	}
}

// sameJSON reports whether a and b decode to the same value.
func sameJSON(a, b json.RawMessage) bool {
	decode := func(raw json.RawMessage) any {
		m, _ := decodeObject([]byte(`{"v":` + string(raw) + `}`))
		return m["v"]
	}
	return reflect.DeepEqual(decode(a), decode(b))
}
