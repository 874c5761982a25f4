package clientconf

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// yamlFile splices whole lines into a YAML text: a block mapping of entries, or a block list
// of entries with a name. The parser reports the line on which an entry begins; its end
// follows from the indentation. Flow style around our entry, multiple documents and tagged
// containers are not supported and return an error.
type yamlFile struct {
	source
	list    bool
	lines   []int // offset of each line, followed by len(src)
	root    *ast.MappingNode
	decoded map[string]any
}

// yamlChild is one entry of a container, on lines first to last-1.
type yamlChild struct {
	name        string
	first, last int
}

func parseYAML(src []byte, client Client) (f *yamlFile, err error) {
	defer func() { // the parser panics on some invalid files
		if p := recover(); p != nil {
			f, err = nil, fmt.Errorf("cannot parse the file as YAML: %v", p)
		}
	}()
	f = &yamlFile{source: newSource(src), list: client.ContainerKind == "list"}
	text := bytes.ReplaceAll(f.src, []byte("\r\n"), []byte("\n")) // the parser miscounts columns with CRLF; line numbers do not change
	if err := config.CheckDepth(text, maxDepth); err != nil {
		return nil, fmt.Errorf("cannot parse the file as YAML: %w", err)
	}
	tree, err := parser.ParseBytes(text, 0)
	if err == nil && len(tree.Docs) > 0 && tree.Docs[0].Body != nil {
		ast.Walk(keepDigits{}, tree.Docs[0])
		err = yaml.NodeToValue(tree.Docs[0].Body, &f.decoded)
	}
	if err != nil {
		return nil, fmt.Errorf("the file is not valid YAML: %w", errors.New(strings.SplitN(err.Error(), "\n", 2)[0]))
	}
	if f.decoded == nil {
		f.decoded = map[string]any{}
	}
	finite(f.decoded)
	f.lines = append(f.lines, 0)
	for i, c := range f.src {
		if c == '\n' && i+1 < len(f.src) {
			f.lines = append(f.lines, i+1)
		}
	}
	f.lines = append(f.lines, len(f.src))
	if documentMark().Match(f.src) && len(documentMark().FindAll(f.src, -1)) > 1 || len(tree.Docs) > 1 || documentEnd().Match(f.src) {
		return nil, errors.New("the file contains several YAML documents")
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return f, nil
	}
	switch body := tree.Docs[0].Body.(type) {
	case *ast.MappingNode:
		f.root = body
	case *ast.MappingValueNode:
		f.root = &ast.MappingNode{BaseNode: &ast.BaseNode{}, Values: []*ast.MappingValueNode{body}}
	case *ast.NullNode, *ast.CommentGroupNode:
	default:
		return nil, errors.New("the file contains no YAML mapping")
	}
	return f, nil
}

// keepDigits replaces fractions by numbers with the same digits: 1.10 is a version in "args".
type keepDigits struct{}

func (v keepDigits) Visit(n ast.Node) ast.Visitor {
	keep := func(n *ast.Node) {
		if f, isFloat := (*n).(*ast.FloatNode); isFloat && json.Valid([]byte(f.Token.Value)) {
			*n = &ast.IntegerNode{BaseNode: f.BaseNode, Token: f.Token, Value: json.Number(f.Token.Value)}
		}
	}
	switch n := n.(type) {
	case *ast.MappingValueNode:
		keep(&n.Value)
	case *ast.SequenceNode:
		for i := range n.Values {
			keep(&n.Values[i])
		}
	}
	return v
}

var (
	documentMark = osutil.LazyRegexp(`(?m)^---(?:\s|$)`)
	documentEnd  = osutil.LazyRegexp(`(?m)^\.\.\.(?:\s|$)`)
)

// line returns line n, counted from 0, without its line ending.
func (f *yamlFile) line(n int) string {
	return strings.TrimRight(string(f.src[f.lines[n]:f.lines[n+1]]), "\r\n")
}

func (f *yamlFile) lineCount() int { return len(f.lines) - 1 }

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// yamlContainer is the mapping or list of the entries.
type yamlContainer struct {
	key      int // line of its key; -1 if it does not exist
	column   int // column of its entries
	empty    bool
	children []yamlChild
}

// findContainer finds the entries. All clients with YAML files have a top-level container.
func (f *yamlFile) findContainer(path []string) (yamlContainer, error) {
	c := yamlContainer{key: -1, column: 2}
	if len(path) != 1 {
		return c, errors.New("cannot safely edit deeply nested entries of a YAML file")
	}
	if f.root == nil {
		return c, nil
	}
	if f.root.IsFlowStyle {
		return c, errors.New("the file uses YAML flow style ({…}), which cannot be edited safely")
	}
	var value ast.Node
	for _, m := range f.root.Values {
		if at := m.Key.GetToken(); at.Value == path[0] {
			value, c.key = m.Value, at.Position.Line-1
		}
	}
	if c.key < 0 {
		return c, nil
	}
	if c.key >= f.lineCount() {
		return c, errors.New("cannot edit the file: its line numbers do not match its YAML structure")
	}
	var names []string
	switch v := value.(type) {
	case nil, *ast.NullNode:
		c.empty = true
		return c, nil
	case *ast.MappingValueNode:
		names, c.column = []string{v.Key.GetToken().Value}, v.Key.GetToken().Position.Column-1
	case *ast.MappingNode:
		if c.empty = len(v.Values) == 0; c.empty {
			return c, nil
		}
		if v.IsFlowStyle {
			return c, fmt.Errorf("%s uses YAML flow style ({…} or […]), which cannot be edited safely", quote(path[0]))
		}
		for _, m := range v.Values {
			names = append(names, m.Key.GetToken().Value)
		}
		c.column = v.Values[0].Key.GetToken().Position.Column - 1
	case *ast.SequenceNode:
		if c.empty = len(v.Values) == 0; c.empty {
			return c, nil
		}
		if v.IsFlowStyle {
			return c, fmt.Errorf("%s uses YAML flow style ({…} or […]), which cannot be edited safely", quote(path[0]))
		}
		items, _ := f.decoded[path[0]].([]any)
		for _, item := range items {
			m, _ := item.(map[string]any)
			names = append(names, fmt.Sprint(m["name"]))
		}
		c.column = v.Start.Position.Column - 1
	default:
		return c, fmt.Errorf("%s is written in a form that cannot be edited safely", quote(path[0]))
	}
	if _, isList := value.(*ast.SequenceNode); isList != f.list {
		return c, fmt.Errorf("%s does not have the format that the client reads", quote(path[0]))
	}
	return c, f.findChildren(&c, names)
}

// findChildren finds the lines of each entry and checks them against the parsed names.
func (f *yamlFile) findChildren(c *yamlContainer, names []string) error {
	for n := c.key + 1; n < f.lineCount(); n++ {
		line := f.line(n)
		text := strings.TrimLeft(line, " ")
		deeper := indentOf(line) > c.column
		switch {
		case text == "" || !deeper && strings.HasPrefix(text, "#"):
		case deeper:
			if k := len(c.children); k > 0 {
				c.children[k-1].last = n + 1
			}
		case indentOf(line) < c.column || f.list && !strings.HasPrefix(text, "-"):
			n = f.lineCount() // the container ends here
		default:
			c.children = append(c.children, yamlChild{first: n})
		}
	}
	if len(c.children) != len(names) {
		return errors.New("the entries are written in a form that cannot be edited safely")
	}
	for i := range c.children {
		child := &c.children[i]
		child.name, child.last = names[i], max(child.last, child.first+1)
	}
	return nil
}

func (f *yamlFile) find(path []string, name string) (c yamlContainer, child *yamlChild, err error) {
	if c, err = f.findContainer(path); err != nil {
		if lookupEntry(f.decoded, path, name) == nil && !f.hasContainer(path) {
			err = nil
		}
		return c, nil, err
	}
	for i := range c.children {
		if c.children[i].name != name {
			continue
		}
		if child != nil {
			return c, nil, fmt.Errorf("key %s occurs twice", quote(name))
		}
		child = &c.children[i]
	}
	return c, child, nil
}

func (f *yamlFile) hasContainer(path []string) bool {
	return len(path) > 0 && f.decoded[path[0]] != nil
}

func (f *yamlFile) entry(path []string, name string) ([]byte, json.RawMessage, error) {
	value := lookupEntry(f.decoded, path, name)
	if value == nil {
		return nil, nil, nil
	}
	_, child, err := f.find(path, name)
	if err != nil || child == nil {
		return nil, nil, errors.Join(err, errors.New("cannot locate the entry in the file"))
	}
	b, err := json.Marshal(value)
	return f.src[f.lines[child.first]:f.lines[child.last]], b, err
}

func (f *yamlFile) set(path []string, name string, value json.RawMessage) ([]byte, error) {
	c, child, err := f.find(path, name)
	if err != nil {
		return nil, err
	}
	switch {
	case child != nil:
		text, err := f.render(name, value, c.column)
		return f.splice(f.lines[child.first], f.lines[child.last], text), err
	case len(c.children) > 0:
		text, err := f.render(name, value, c.column)
		at := f.lines[c.children[len(c.children)-1].last]
		return f.insert(at, text), err
	case c.key >= 0:
		return f.fillEmpty(c, name, value)
	}
	text, err := f.render(name, value, 2)
	return f.insert(len(f.src), path[0]+":"+f.newline+text), err
}

// emptyValue matches the line of an empty container.
var emptyValue = osutil.LazyRegexp(`^([^:#]+:)(?:[ \t]*(?:\{[ \t]*\}|\[[ \t]*\]|null|~))?([ \t]*(?:#.*)?)$`)

func (f *yamlFile) fillEmpty(c yamlContainer, name string, value json.RawMessage) ([]byte, error) {
	m := emptyValue().FindStringSubmatch(f.line(c.key))
	if m == nil {
		return nil, errors.New("the empty list of servers is written in a form that cannot be edited safely")
	}
	text, err := f.render(name, value, 2)
	return f.splice(f.lines[c.key], f.lines[c.key+1], m[1]+m[2]+f.newline+text), err
}

// insert inserts lines at the start of a line or at the end of the file.
func (f *yamlFile) insert(at int, text string) []byte {
	if at == len(f.src) && at > 0 && f.src[at-1] != '\n' {
		text = f.newline + strings.TrimSuffix(text, f.newline)
	}
	return f.splice(at, at, text)
}

func (f *yamlFile) replace(path []string, name string, raw []byte) ([]byte, error) {
	_, child, err := f.find(path, name)
	if err != nil || child == nil {
		return nil, errors.Join(err, errNoEntry)
	}
	return f.splice(f.lines[child.first], f.lines[child.last], string(raw)), nil
}

func (f *yamlFile) remove(path []string, name string) ([]byte, error) {
	c, child, err := f.find(path, name)
	if err != nil || child == nil {
		return nil, cmp.Or(err, errNoEntry)
	}
	start, end := f.lines[child.first], f.lines[child.last]
	if len(c.children) > 1 {
		return f.splice(start, end, ""), nil
	}
	if c.key+1 == child.first && strings.TrimSpace(f.line(c.key)) == path[0]+":" {
		return f.splice(f.lines[c.key], end, ""), nil // an empty key would mean null
	}
	empty := "{}" // without a value, the key would mean null
	if f.list {
		empty = "[]"
	}
	if m := emptyValue().FindStringSubmatch(f.line(c.key)); m != nil {
		comments := string(f.src[f.lines[c.key+1]:start])
		return f.splice(f.lines[c.key], end, m[1]+" "+empty+m[2]+f.newline+comments), nil
	}
	return f.splice(start, end, strings.Repeat(" ", c.column)+empty+f.newline), nil
}

func (f *yamlFile) decode() (map[string]any, error) { return cloneMap(f.decoded) }

// cloneMap converts every value to its JSON equivalent, so that files compare by value.
func cloneMap(m map[string]any) (map[string]any, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return decodeObject(b)
}

// finite returns v with infinite numbers, which JSON does not have, as text.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Sprint(v)
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = finite(v[key])
		}
	}
	return v
}

// render returns the entry as block lines that begin at column.
func (f *yamlFile) render(name string, value json.RawMessage, column int) (string, error) {
	members, err := orderedMembers(value)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	pad := strings.Repeat(" ", column)
	if !f.list {
		b.WriteString(pad + yamlKey(name) + ":\n")
	}
	for i, m := range members {
		lead := pad + "  "
		if f.list && i == 0 {
			lead = pad + "- "
		}
		if err := writeYAMLMember(&b, lead, column+2, m); err != nil {
			return "", err
		}
	}
	return strings.ReplaceAll(b.String(), "\n", f.newline), nil
}

func writeYAMLMember(b *strings.Builder, lead string, column int, m member) error {
	b.WriteString(lead + yamlKey(m.key) + ":")
	pad := strings.Repeat(" ", column+2)
	switch trimmed := bytes.TrimSpace(m.value); trimmed[0] {
	case '{':
		inner, err := orderedMembers(trimmed)
		if err != nil {
			return err
		}
		if len(inner) == 0 {
			b.WriteString(" {}")
		}
		b.WriteString("\n")
		for _, i := range inner {
			if err := writeYAMLMember(b, pad, column+2, i); err != nil {
				return err
			}
		}
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(trimmed, &items); err != nil {
			return err
		}
		if len(items) == 0 {
			b.WriteString(" []")
		}
		b.WriteString("\n")
		for _, item := range items {
			b.WriteString(pad + "- " + yamlScalar(item) + "\n")
		}
	default:
		b.WriteString(" " + yamlScalar(trimmed) + "\n")
	}
	return nil
}

// yamlScalar returns a value on one line. JSON scalars are valid YAML.
func yamlScalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return core.QuoteJSON(s)
	}
	return string(raw)
}

var plainKey = osutil.LazyRegexp(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

func yamlKey(key string) string {
	switch strings.ToLower(key) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return core.QuoteJSON(key)
	}
	if plainKey().MatchString(key) {
		return key
	}
	return core.QuoteJSON(key)
}
