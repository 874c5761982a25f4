package clientconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFile splices tables into a TOML text: [path.name], or [[path]] with a name for clients
// that keep a list. New tables are appended at the end of the file, so nothing else moves.
// Entries in inline tables or with dotted keys are not supported and return an error.
type tomlFile struct {
	source
	list   bool
	tables []tomlTable
	all    map[string]any // decoded
}

// tomlTable is one [header] with its lines: src[start:end] ends before the next header.
type tomlTable struct {
	key        []string
	start, end int
	body       int // offset after the line of the header
}

// maxDepth limits the levels of nesting of TOML and YAML, whose parsers recurse.
const maxDepth = 100

func parseTOML(src []byte, client Client) (*tomlFile, error) {
	f := &tomlFile{source: newSource(src), list: client.ContainerKind == "list"}
	err := config.CheckDepth(src, maxDepth)
	if err == nil {
		f.all, err = f.decode()
	}
	if err != nil {
		return nil, fmt.Errorf("the file is not valid TOML: %w", err)
	}
	var p unstable.Parser
	p.Reset(f.src)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		t := tomlTable{start: -1}
		for key := e.Key(); key.Next(); {
			t.key = append(t.key, string(key.Node().Data))
			if t.start < 0 {
				t.start = int(key.Node().Raw.Offset)
			}
		}
		t.start = bytes.LastIndexByte(f.src[:t.start], '\n') + 1
		f.tables = append(f.tables, t)
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("the file is not valid TOML: %w", err)
	}
	for i := range f.tables {
		t := &f.tables[i]
		t.end = len(f.src)
		if i+1 < len(f.tables) {
			t.end = f.tables[i+1].start
		}
		t.body = t.end
		if at := bytes.IndexByte(f.src[t.start:t.end], '\n'); at >= 0 {
			t.body = t.start + at + 1
		}
		t.end = t.body + contentLength(f.src[t.body:t.end])
	}
	return f, nil
}

// contentLength returns the length of b without the blank lines and comments at its end,
// which belong to the next table.
func contentLength(b []byte) int {
	length := 0
	for at := 0; at < len(b); {
		next := len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		if line := bytes.TrimSpace(b[at:next]); len(line) > 0 && line[0] != '#' {
			length = next
		}
		at = next
	}
	return length
}

// entryTables returns the tables that make up the entry: its own and those below it. The result is
// nil if the entry does not exist. An entry in another notation is an error.
func (f *tomlFile) entryTables(path []string, name string) (tables []tomlTable, err error) {
	want := append(slices.Clone(path), name)
	found := lookupEntry(f.all, path, name) != nil
	for i, t := range f.tables {
		if f.list {
			if slices.Equal(t.key, path) && f.nameOf(t) == name {
				tables = append(tables, t)
				for _, below := range f.tables[i+1:] {
					if len(below.key) <= len(path) || !slices.Equal(below.key[:len(path)], path) {
						break
					}
					tables = append(tables, below)
				}
			}
			continue
		}
		if len(t.key) >= len(want) && slices.Equal(t.key[:len(want)], want) {
			tables = append(tables, t)
		}
	}
	if found != (len(tables) > 0) {
		return nil, fmt.Errorf("the entry %s is written in a form that cannot be edited safely", quote(name))
	}
	for i := 1; i < len(tables); i++ {
		if gap := f.src[tables[i-1].end:tables[i].start]; len(bytes.TrimSpace(gap)) > 0 {
			return nil, fmt.Errorf("the entry %s is split across several parts of the file", quote(name))
		}
	}
	return tables, nil
}

func (f *tomlFile) nameOf(t tomlTable) string {
	var e struct{ Name string }
	_ = toml.Unmarshal(f.src[t.body:t.end], &e) // cannot fail: the file was parsed
	return e.Name
}

func (f *tomlFile) entry(path []string, name string) ([]byte, json.RawMessage, error) {
	tables, err := f.entryTables(path, name)
	if err != nil || len(tables) == 0 {
		return nil, nil, err
	}
	value, err := json.Marshal(lookupEntry(f.all, path, name))
	return f.src[tables[0].start:tables[len(tables)-1].end], value, err
}

func (f *tomlFile) set(path []string, name string, value json.RawMessage) ([]byte, error) {
	tables, err := f.entryTables(path, name)
	if err != nil {
		return nil, err
	}
	text, err := f.renderTable(path, name, value)
	if err != nil {
		return nil, err
	}
	if len(tables) > 0 {
		return f.splice(tables[0].start, tables[len(tables)-1].end, text), nil
	}
	lead := ""
	if len(f.src) > 0 {
		lead = f.newline
		if f.src[len(f.src)-1] != '\n' {
			lead += f.newline
		}
	}
	return f.splice(len(f.src), len(f.src), lead+text), nil
}

func (f *tomlFile) replace(path []string, name string, raw []byte) ([]byte, error) {
	tables, err := f.entryTables(path, name)
	if err != nil || len(tables) == 0 {
		return nil, errors.Join(err, errNoEntry)
	}
	return f.splice(tables[0].start, tables[len(tables)-1].end, string(raw)), nil
}

func (f *tomlFile) remove(path []string, name string) ([]byte, error) {
	tables, err := f.entryTables(path, name)
	if err != nil || len(tables) == 0 {
		return nil, cmp.Or(err, errNoEntry)
	}
	start, end := tables[0].start, tables[len(tables)-1].end
	if bytes.HasSuffix(f.src[:start], []byte(f.newline+f.newline)) {
		start -= len(f.newline) // the blank line that set inserted
	}
	return f.splice(start, end, ""), nil
}

func (f *tomlFile) decode() (map[string]any, error) {
	var all map[string]any
	err := toml.Unmarshal(f.src, &all)
	if all == nil {
		all = map[string]any{}
	}
	finite(all)
	return all, err
}

// renderTable returns the entry as text, with its keys in the order of the client's template.
func (f *tomlFile) renderTable(path []string, name string, value json.RawMessage) (string, error) {
	members, err := orderedMembers(value)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if f.list {
		b.WriteString("[[" + strings.Join(path, ".") + "]]" + f.newline)
	} else {
		keys := append(slices.Clone(path), name)
		for i, key := range keys {
			keys[i] = tomlKey(key)
		}
		b.WriteString("[" + strings.Join(keys, ".") + "]" + f.newline)
	}
	for _, m := range members {
		text, err := tomlValue(m.value)
		if err != nil {
			return "", err
		}
		b.WriteString(tomlKey(m.key) + " = " + text + f.newline)
	}
	return b.String(), nil
}

type member struct {
	key   string
	value json.RawMessage
}

func orderedMembers(object json.RawMessage) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var members []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: fmt.Sprint(key)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return members, nil
}

var bareKey = osutil.LazyRegexp(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey().MatchString(key) {
		return key
	}
	return core.QuoteJSON(key)
}

// tomlValue returns a JSON value as TOML. JSON strings are valid TOML basic strings.
func tomlValue(raw json.RawMessage) (string, error) {
	var v any
	if err := core.DecodeJSON(raw, &v); err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return core.QuoteJSON(v), nil
	case bool, json.Number:
		return fmt.Sprint(v), nil
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			b, _ := json.Marshal(item)
			text, err := tomlValue(b)
			if err != nil {
				return "", err
			}
			items[i] = text
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case map[string]any:
		var items []string
		for key, item := range v {
			b, _ := json.Marshal(item)
			text, err := tomlValue(b)
			if err != nil {
				return "", err
			}
			items = append(items, core.QuoteJSON(key)+" = "+text)
		}
		sort.Strings(items)
		return "{ " + strings.Join(items, ", ") + " }", nil
	}
	return "", fmt.Errorf("cannot write %s as TOML", raw)
}

// lookupEntry returns the value at path/name in a decoded file: a map key, or the name in a list.
func lookupEntry(m map[string]any, path []string, name string) any {
	if len(path) == 0 {
		return m[name]
	}
	switch child := m[path[0]].(type) {
	case map[string]any:
		return lookupEntry(child, path[1:], name)
	case []any:
		for _, e := range child {
			if e, ok := e.(map[string]any); ok && e["name"] == name {
				return e
			}
		}
	}
	return nil
}
