package config

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// yamlTree reads the one document of a YAML file. Anchors, aliases and merge
// keys are resolved; an alias shares its anchor's node.
func yamlTree(file string, src []byte) (root *node, problem *Problem) {
	where := lines{file: file, src: src}
	if i := tooDeep(src); i >= 0 {
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
