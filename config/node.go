package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/tailscale/hujson"
)

// Limits of one file. Configurations are written by hand: anything larger or deeper is a mistake,
// and deep nesting would exhaust the stacks of the parsers.
const (
	maxFile  = 4 << 20
	maxYAML  = 1 << 20
	maxDepth = 100
	// maxParsedDepth limits the levels of nesting of other files, as encoding/json does.
	maxParsedDepth = 10_000
)

type kind byte

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindObject
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "an object"}[k]
}

// node is a value of a JSON or YAML file with its position. Nodes may be shared (YAML aliases)
// and are read-only.
type node struct {
	kind    kind
	text    string // of a string, or a number or boolean as written
	items   []*node
	members []member
	at      Position
}

type member struct {
	name  string
	at    Position
	value *node
}

// get returns the first member called name, or nil.
func (n *node) get(name string) *node {
	if n != nil && n.kind == kindObject {
		for _, m := range n.members {
			if m.name == name {
				return m.value
			}
		}
	}
	return nil
}

// json returns the value as JSON on one line.
func (n *node) json() string {
	quote := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	var parts []string
	switch n.kind {
	case kindString:
		return quote(n.text)
	case kindList:
		for _, item := range n.items {
			parts = append(parts, item.json())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case kindObject:
		for _, m := range n.members {
			parts = append(parts, quote(m.name)+": "+m.value.json())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	if json.Valid([]byte(n.text)) {
		return n.text
	}
	return "null" // or a number that only YAML has
}

// IsYAML reports whether file is read as YAML. Everything else is JSON with comments.
func IsYAML(file string) bool {
	ext := strings.ToLower(filepath.Ext(file))
	return ext == ".yaml" || ext == ".yml"
}

// tree parses src into nodes. The problem has a position.
func tree(file string, src []byte) (*node, *Problem) {
	at := Position{File: file, Line: 1, Column: 1}
	src, problem := trimBOMAndCheckUTF8(src)
	switch {
	case problem != nil:
		problem.File, problem.Line, problem.Column = file, 1, 1
		return nil, problem
	case len(src) > maxFile || IsYAML(file) && len(src) > maxYAML:
		return nil, refuse(at, "file is too large", "is this the right file?")
	}
	if IsYAML(file) {
		return yamlTree(file, src)
	}
	return jsonTree(file, src)
}

// trimBOMAndCheckUTF8 removes a byte order mark and refuses invalid UTF-8.
func trimBOMAndCheckUTF8(src []byte) ([]byte, *Problem) {
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	switch {
	case bytes.HasPrefix(src, []byte("\xff\xfe")), bytes.HasPrefix(src, []byte("\xfe\xff")), bytes.IndexByte(src, 0) >= 0:
		return nil, refuse(Position{}, "file is not UTF-8 but UTF-16 or binary", "save it as UTF-8")
	case !utf8.Valid(src):
		return nil, refuse(Position{}, "file is not UTF-8", "save it as UTF-8")
	}
	return src, nil
}

func refuse(at Position, message, suggestion string) *Problem {
	return &Problem{File: at.File, Line: at.Line, Column: at.Column, Message: message, Suggestion: suggestion}
}

// lines converts byte offsets of one source into positions. It continues from the last offset,
// also within a line, so that ascending offsets cost linear time even in a file of one line.
type lines struct {
	file         string
	src          []byte
	offset       int // the last offset
	line, column int // of offset, from 1; line 0 before the first use
}

func (l *lines) at(offset int) Position {
	if offset < l.offset || l.line == 0 {
		l.offset, l.line, l.column = 0, 1, 1
	}
	offset = min(offset, len(l.src))
	passed := l.src[l.offset:offset]
	if n := bytes.Count(passed, []byte{'\n'}); n > 0 {
		l.line, l.column = l.line+n, 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	l.column += utf8.RuneCount(passed)
	l.offset = offset
	return Position{File: l.file, Line: l.line, Column: l.column}
}

// tooDeep returns the offset of the first bracket that is nested deeper than limit, or -1.
// After an unclosed quote it also counts brackets in strings: it only has to protect the parsers.
func tooDeep(src []byte, limit int) int {
	depth, inString := 0, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && c == '\n':
			inString = false
		case inString:
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			if end := bytes.IndexByte(src[i:], '\n'); end >= 0 {
				i += end
			} else {
				return -1
			}
		case c == '[' || c == '{':
			if depth++; depth > limit {
				return i
			}
		case c == ']' || c == '}':
			depth = max(0, depth-1)
		}
	}
	return -1
}

func tooDeepProblem(at Position) *Problem {
	return refuse(at, fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
}

var hujsonPlace = osutil.LazyRegexp(`^hujson: line (\d+), column (\d+): `)

// CheckDepth returns an error if brackets in src are nested deeper than limit: parsers recurse into
// them.
func CheckDepth(src []byte, limit int) error {
	if i := tooDeep(src, limit); i >= 0 {
		return fmt.Errorf("nested deeper than %d levels at byte %d", limit, i)
	}
	return nil
}

// ParseJSON parses JSON with comments and trailing commas. Unlike hujson.Parse, it accepts a line
// comment at the end of src that no line break follows, and fails where it would overflow the stack,
// which ends the process. The bytes of the value are those of src.
func ParseJSON(src []byte) (hujson.Value, error) {
	if err := CheckDepth(src, maxParsedDepth); err != nil {
		return hujson.Value{}, err
	}
	value, err := hujson.Parse(append(src[:len(src):len(src)], '\n'))
	if err == nil {
		value.AfterExtra = bytes.TrimSuffix(value.AfterExtra, []byte("\n"))
	}
	return value, err
}

// StandardJSON returns JSON with comments and trailing commas as JSON without them.
func StandardJSON(src []byte) ([]byte, error) {
	value, err := ParseJSON(src)
	if err != nil {
		return nil, err
	}
	value.Standardize()
	return value.Pack(), nil
}

// jsonTree reads JSON with comments and trailing commas. src is UTF-8.
func jsonTree(file string, src []byte) (*node, *Problem) {
	where := lines{file: file, src: src}
	if i := tooDeep(src, maxDepth); i >= 0 {
		return nil, tooDeepProblem(where.at(i))
	}
	value, err := ParseJSON(src)
	if err != nil {
		return nil, jsonProblem(&where, src, err)
	}
	return jsonNode(&where, value), nil
}

func jsonProblem(where *lines, src []byte, err error) *Problem {
	if onlySpace(src) {
		return refuse(where.at(0), "file is empty", `for a configuration without servers, write {"mcpServers": {}}`)
	}
	at := where.at(len(src))
	message := err.Error()
	if m := hujsonPlace().FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		at = where.at(byteOffset(src, m[1], m[2]))
	}
	suggestion := ""
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refuse(where.at(len(src)), "unexpected end of file", "a closing bracket or quote is missing")
	case strings.HasPrefix(message, "invalid literal"):
		// The text may be a secret whose quotes were forgotten, so it is not shown.
		message, suggestion = "a word without quotes", "text and keys need double quotes; true, false, null and numbers do not"
	case strings.Contains(message, "after object value"), strings.Contains(message, "after array value"):
		suggestion = "is a comma missing before it?"
	case strings.Contains(message, "at start of object name"):
		suggestion = "keys need double quotes"
	case strings.Contains(message, "after object name"):
		suggestion = "add a colon between key and value"
	case strings.Contains(message, "in string"):
		suggestion = `escape a backslash as \\ and a line break as \n`
	}
	return refuse(at, message, suggestion)
}

// byteOffset is the offset of a line and column, both counted from 1 and columns in bytes.
func byteOffset(src []byte, line, column string) int {
	l, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(column)
	offset := 0
	for ; l > 1; l-- {
		i := bytes.IndexByte(src[offset:], '\n')
		if i < 0 {
			break
		}
		offset += i + 1
	}
	return min(len(src), offset+c-1)
}

// onlySpace reports whether src contains only white space and comments.
func onlySpace(src []byte) bool {
	v, err := hujson.Parse(append(src[:len(src):len(src)], "\nnull"...))
	return err == nil && v.Value.Kind() == 'n' && v.StartOffset == len(src)+1
}

func jsonNode(where *lines, v hujson.Value) *node {
	n := &node{at: where.at(v.StartOffset)}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = kindObject
		for _, m := range value.Members {
			name, _ := m.Name.Value.(hujson.Literal)
			n.members = append(n.members, member{name: name.String(), at: where.at(m.Name.StartOffset), value: jsonNode(where, m.Value)})
		}
	case *hujson.Array:
		n.kind = kindList
		for _, e := range value.Elements {
			n.items = append(n.items, jsonNode(where, e))
		}
	case hujson.Literal:
		n.text = value.String()
		switch value.Kind() {
		case '"':
			n.kind = kindString
		case '0':
			n.kind = kindNumber
		case 't', 'f':
			n.kind = kindBool
		}
	}
	return n
}

// yamlTree reads the one document of a YAML file. Anchors, aliases and merge
// keys are resolved; an alias shares its anchor's node.
func yamlTree(file string, src []byte) (root *node, problem *Problem) {
	where := lines{file: file, src: src}
	if i := tooDeep(src, maxDepth); i >= 0 {
		return nil, tooDeepProblem(where.at(i))
	}
	if i := findTooDeepList(src); i >= 0 {
		return nil, tooDeepProblem(where.at(i))
	}
	// A panic of the parser refuses the file like any other error.
	defer func() {
		if r := recover(); r != nil {
			root, problem = nil, refuse(where.at(0), "file is not valid YAML", "")
		}
	}()
	parsed, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlProblem(&where, err)
	}
	var body ast.Node
	for _, doc := range parsed.Docs {
		switch {
		case doc == nil || doc.Body == nil:
		case body != nil:
			return nil, refuse(yamlAt(file, doc.Body), "file contains more than one YAML document", "use one file for each")
		default:
			body = doc.Body
		}
	}
	if body == nil {
		return nil, refuse(where.at(0), "file is empty", `for a configuration without servers, write "mcpServers: {}"`)
	}
	y := yamlReader{file: file, anchors: make(map[string]*node)}
	root = y.node(body, 0)
	return root, y.problem
}

func yamlProblem(where *lines, err error) *Problem {
	if bad, ok := errors.AsType[yaml.Error](err); ok {
		if tk := bad.GetToken(); tk != nil && tk.Position != nil {
			return refuse(Position{where.file, tk.Position.Line, tk.Position.Column}, bad.GetMessage(), "")
		}
		return refuse(where.at(0), bad.GetMessage(), "")
	}
	return refuse(where.at(0), "file is not valid YAML", "")
}

// findTooDeepList returns the offset of a line that opens more than maxDepth nested lists, or -1.
func findTooDeepList(src []byte) int {
	for i := 0; i < len(src); {
		n := 0
		for i+2*n+1 < len(src) && (src[i+2*n] == '-' || src[i+2*n] == '?') && src[i+2*n+1] == ' ' {
			n++
		}
		if n > maxDepth {
			return i
		}
		i += max(1, 2*n)
	}
	return -1
}

type yamlReader struct {
	file    string
	anchors map[string]*node
	problem *Problem // the first
}

func (y *yamlReader) fail(n ast.Node, message string) *node {
	at := yamlAt(y.file, n)
	if y.problem == nil {
		y.problem = refuse(at, message, "")
	}
	return &node{at: at}
}

func (y *yamlReader) node(n ast.Node, depth int) *node {
	if n == nil {
		return &node{at: Position{File: y.file}}
	}
	if depth > maxDepth {
		return y.fail(n, fmt.Sprintf("nested deeper than %d levels", maxDepth))
	}
	at := yamlAt(y.file, n)
	switch v := n.(type) {
	case *ast.MappingNode:
		return y.mapping(at, v.Values, depth)
	case *ast.MappingValueNode:
		return y.mapping(at, []*ast.MappingValueNode{v}, depth)
	case *ast.SequenceNode:
		list := &node{kind: kindList, at: at}
		for _, item := range v.Values {
			list.items = append(list.items, y.node(item, depth+1))
		}
		return list
	case *ast.AnchorNode:
		value := y.node(v.Value, depth+1)
		y.anchors[yamlText(v.Name)] = value
		return value
	case *ast.AliasNode:
		if value := y.anchors[yamlText(v.Value)]; value != nil {
			return value
		}
		return y.fail(n, "alias without an anchor before it")
	case *ast.TagNode:
		return y.node(v.Value, depth+1)
	case *ast.LiteralNode:
		return &node{kind: kindString, text: v.Value.Value, at: at}
	case *ast.StringNode:
		return &node{kind: kindString, text: v.Value, at: at}
	case *ast.BoolNode:
		return &node{kind: kindBool, text: fmt.Sprint(v.Value), at: at}
	case *ast.IntegerNode:
		return &node{kind: kindNumber, text: fmt.Sprint(v.Value), at: at}
	case *ast.FloatNode:
		return &node{kind: kindNumber, text: yamlText(n), at: at}
	case *ast.NullNode:
		return &node{at: at}
	}
	return &node{kind: kindString, text: yamlText(n), at: at}
}

// mapping reads pairs; "<<" merges the keys that the mapping does not set.
func (y *yamlReader) mapping(at Position, pairs []*ast.MappingValueNode, depth int) *node {
	object := &node{kind: kindObject, at: at}
	var merged []member
	for _, pair := range pairs {
		if pair == nil || pair.Key == nil {
			continue
		}
		value := y.node(pair.Value, depth+1)
		if pair.Key.IsMergeKey() {
			sources := value.items
			if value.kind == kindObject {
				sources = []*node{value}
			}
			for _, source := range sources {
				merged = append(merged, source.members...)
			}
			continue
		}
		object.members = append(object.members, member{name: yamlText(pair.Key), at: yamlAt(y.file, pair.Key), value: value})
	}
	for _, m := range merged {
		if object.get(m.name) == nil {
			object.members = append(object.members, m)
		}
	}
	return object
}

// yamlText is the value of a scalar without quotes and comments.
func yamlText(n ast.Node) string {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value
	case *ast.LiteralNode:
		return v.Value.Value
	case *ast.MappingKeyNode:
		return yamlText(v.Value)
	case nil:
		return ""
	}
	if tk := n.GetToken(); tk != nil {
		return string(bytes.TrimSpace([]byte(tk.Value)))
	}
	return ""
}

func yamlAt(file string, n ast.Node) Position {
	var tk *token.Token
	switch v := n.(type) {
	case *ast.MappingNode:
		if !v.IsFlowStyle && len(v.Values) > 0 {
			return yamlAt(file, v.Values[0])
		}
		tk = v.Start
	case *ast.MappingValueNode:
		return yamlAt(file, v.Key)
	default:
		tk = n.GetToken()
	}
	if tk == nil || tk.Position == nil {
		return Position{File: file}
	}
	return Position{File: file, Line: tk.Position.Line, Column: tk.Position.Column}
}
