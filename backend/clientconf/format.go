package clientconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/tailscale/hujson"
)

// document is a client's file, parsed only as far as needed to locate entries. Edits leave
// every byte outside the inserted or removed entry unchanged.
type document interface {
	// entry returns the entry with this name: its bytes in the file, and the same as JSON.
	// Both are nil if it does not exist.
	entry(path []string, name string) (raw []byte, value json.RawMessage, err error)
	// set returns the file with the entry inserted or replaced.
	set(path []string, name string, value json.RawMessage) ([]byte, error)
	// remove returns the file without an existing entry.
	remove(path []string, name string) ([]byte, error)
	// replace returns the file with the bytes of an existing entry replaced by raw.
	replace(path []string, name string, raw []byte) ([]byte, error)
	// latest returns what the latest set or replace of an existing entry replaced.
	latest() textSplice
	// decode returns the decoded file. Numbers keep their digits.
	decode() (map[string]any, error)
}

var errNoEntry = errors.New("the entry does not exist")

var utf8BOM = []byte{0xEF, 0xBB, 0xBF}

// source is the text of a client's file.
type source struct {
	bom     []byte // the byte order mark, or nil
	src     []byte // the text after it
	newline string
	last    textSplice // the latest edit, by offsets in the file
}

func (s *source) latest() textSplice { return s.last }

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
	s.last = textSplice{len(s.bom) + start, len(s.bom) + end, []byte(with)}
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

func sameJSON(a, b json.RawMessage) bool {
	decode := func(raw json.RawMessage) any {
		m, _ := decodeObject([]byte(`{"v":` + string(raw) + `}`))
		return m["v"]
	}
	return reflect.DeepEqual(decode(a), decode(b))
}

// jsonFile is a JSON or JSONC text, which config.Document edits.
type jsonFile struct {
	source
	root    *hujson.Object
	members map[*hujson.Object]map[string]int // index by key of each object that was searched; -1: the key occurs twice
}

// parseJSON parses src with comments and trailing commas only if the client supports them. An
// empty file counts as {}.
func parseJSON(src []byte, client Client) (*jsonFile, error) {
	f := &jsonFile{source: newSource(src)}
	if len(bytes.TrimSpace(f.src)) == 0 {
		f.src = []byte("{}")
	}
	value, err := config.ParseJSON(f.src)
	if client.Format == JSON && (err != nil || !value.IsStandard()) {
		var decoded any
		strict := json.Unmarshal(f.src, &decoded)
		if syntax, ok := errors.AsType[*json.SyntaxError](strict); ok && err == nil { // a comment, or a comma too many
			strict = fmt.Errorf("line %d: %w", 1+bytes.Count(f.src[:syntax.Offset], []byte("\n")), strict)
		}
		if err == nil {
			err = strict
		}
	}
	if err != nil {
		reason := strings.TrimPrefix(err.Error(), "hujson: ")
		if place, _, isWord := strings.Cut(reason, ": invalid literal"); isWord { // which may be a secret
			reason = place + ": a word without quotes"
		}
		return nil, errors.New("the file is not valid JSON: " + reason)
	}
	root, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("the file contains no JSON object")
	}
	f.root = root
	return f, nil
}

// find returns the object at path, or nil. It returns an error if something on the path is not an object
// or occurs twice.
func (f *jsonFile) find(path []string) (*hujson.Object, error) {
	o := f.root
	for i, key := range path {
		member, err := f.uniqueMember(o, key)
		if err != nil || member == nil {
			return nil, err
		}
		child, ok := member.Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s is not an object", quote(strings.Join(path[:i+1], ".")))
		}
		o = child
	}
	return o, nil
}

// member returns the entry with this name, or nil.
func (f *jsonFile) member(path []string, name string) (*hujson.ObjectMember, error) {
	o, err := f.find(path)
	if err != nil || o == nil {
		return nil, err
	}
	return f.uniqueMember(o, name)
}

// uniqueMember returns the single member with this key, or nil.
func (f *jsonFile) uniqueMember(o *hujson.Object, key string) (*hujson.ObjectMember, error) {
	index, ok := f.members[o]
	if !ok {
		index = map[string]int{}
		for i := range o.Members {
			name := o.Members[i].Name.Value.(hujson.Literal).String()
			if _, twice := index[name]; twice {
				i = -1
			}
			index[name] = i
		}
		if f.members == nil {
			f.members = map[*hujson.Object]map[string]int{}
		}
		f.members[o] = index
	}
	switch i, ok := index[key]; {
	case !ok:
		return nil, nil
	case i < 0:
		return nil, fmt.Errorf("key %s occurs twice", quote(key))
	default:
		return &o.Members[i], nil
	}
}

func (f *jsonFile) entry(path []string, name string) ([]byte, json.RawMessage, error) {
	m, err := f.member(path, name)
	if err != nil || m == nil {
		return nil, nil, err
	}
	raw := f.src[m.Value.StartOffset:m.Value.EndOffset]
	value, err := hujson.Standardize(bytes.Clone(raw))
	return raw, value, err
}

// sameExcept is the function of this name for two JSON files. Edits leave all other bytes as they are,
// so that nothing has to be decoded.
func (f *jsonFile) sameExcept(other *jsonFile, edits []edit) bool {
	paths := make([][]string, len(edits))
	for i, e := range edits {
		paths[i] = append(slices.Clone(e.path), e.name)
	}
	a, b := f.rest(f.root, paths, nil), other.rest(other.root, paths, nil)
	return slices.EqualFunc(a, b, bytes.Equal)
}

// rest returns the names and values of an object without those at paths, and without objects that are
// empty afterwards.
func (f *jsonFile) rest(o *hujson.Object, paths [][]string, all [][]byte) [][]byte {
	byKey := map[string][][]string{}
	for _, path := range paths {
		byKey[path[0]] = append(byKey[path[0]], path[1:])
	}
	for i := range o.Members {
		m := &o.Members[i]
		name := f.src[m.Name.StartOffset:m.Name.EndOffset]
		inner := byKey[m.Name.Value.(hujson.Literal).String()]
		child, isObject := m.Value.Value.(*hujson.Object)
		switch {
		case slices.ContainsFunc(inner, func(path []string) bool { return len(path) == 0 }): // edited
		case isObject && len(inner) > 0:
			length := len(all)
			if all = f.rest(child, inner, append(all, name, []byte("{"))); len(all) == length+2 {
				all = all[:length]
			} else {
				all = append(all, []byte("}"))
			}
		case !(len(inner) > 0 && m.Value.Value.Kind() == 'n'):
			all = append(all, name, f.src[m.Value.StartOffset:m.Value.EndOffset])
		}
	}
	return all
}

func (f *jsonFile) decode() (map[string]any, error) {
	standard, err := config.StandardJSON(f.src)
	if err != nil {
		return nil, err
	}
	return decodeObject(standard)
}

func decodeObject(src []byte) (map[string]any, error) {
	var m map[string]any
	return m, core.DecodeJSON(src, &m)
}

// set replaces the existing value, or appends a member to the object at path, which it
// creates if needed.
func (f *jsonFile) set(path []string, name string, value json.RawMessage) ([]byte, error) {
	if _, err := f.member(path, name); err != nil {
		return nil, err
	}
	d, err := config.NewDocument(slices.Concat(f.bom, f.src))
	if err == nil {
		err = d.PutJSON(value, append(slices.Clone(path), name)...)
	}
	if err != nil {
		return nil, err
	}
	return d.Bytes(), nil
}

func (f *jsonFile) replace(path []string, name string, raw []byte) ([]byte, error) {
	m, err := f.member(path, name)
	if err != nil || m == nil {
		return nil, errors.Join(err, errNoEntry)
	}
	return f.splice(m.Value.StartOffset, m.Value.EndOffset, string(raw)), nil
}

// remove removes the member, and keeps the comments above it.
func (f *jsonFile) remove(path []string, name string) ([]byte, error) {
	if m, err := f.member(path, name); err != nil || m == nil {
		return nil, cmp.Or(err, errNoEntry)
	}
	d, err := config.NewDocument(slices.Concat(f.bom, f.src))
	if err != nil {
		return nil, err
	}
	d.Delete(true, append(slices.Clone(path), name)...)
	return d.Bytes(), nil
}

func quote(s string) string { return fmt.Sprintf("%q", s) }
