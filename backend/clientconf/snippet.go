package clientconf

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/pelletier/go-toml/v2"
)

// snippet is the text that a user adds to a client's file where Drawbridge cannot edit it, in the
// language of the file.
type snippet struct {
	text string
	// place follows the path of the file in a sentence: it says where in the file the text belongs,
	// if it cannot be a part of its own.
	place string
}

// newSnippet returns the snippet for entries of a client's file with the given content.
func newSnippet(client Client, content []byte, entries []edit) snippet {
	var s snippet
	var err error
	switch client.Format {
	case TOML:
		s, err = tomlSnippet(client, content, entries)
	case YAML:
		s, err = yamlSnippet(client, content, entries)
	default:
		return jsonSnippet(entries)
	}
	if err != nil { // an entry that this format cannot express
		return jsonSnippet(entries)
	}
	return s
}

// jsonSnippet returns entries as JSON documents, one for each path.
func jsonSnippet(entries []edit) snippet {
	var texts, paths []string
	byPath := map[string][]string{}
	for _, e := range entries {
		path, _ := json.Marshal(e.path)
		if byPath[string(path)] == nil {
			paths = append(paths, string(path))
		}
		byPath[string(path)] = append(byPath[string(path)], core.QuoteJSON(e.name)+":"+string(e.value))
	}
	for _, path := range paths {
		var keys []string
		_ = json.Unmarshal([]byte(path), &keys) // encoded above
		text := "{" + strings.Join(byPath[path], ",") + "}"
		for i := len(keys) - 1; i >= 0; i-- {
			text = "{" + core.QuoteJSON(keys[i]) + ":" + text + "}"
		}
		var b bytes.Buffer
		if json.Indent(&b, []byte(text), "", "  ") == nil {
			text = b.String()
		}
		texts = append(texts, text)
	}
	return snippet{text: strings.Join(texts, "\n")}
}

// setAll returns the file with all entries set.
func setAll(client Client, content []byte, entries []edit) (string, error) {
	for _, e := range entries {
		file, err := parse(content, client)
		if err != nil {
			return "", err
		}
		if content, err = file.set(e.path, e.name, e.value); err != nil {
			return "", err
		}
	}
	return string(content), nil
}

// between is the place of a text inside of a container on one line.
func between(what, container string) string {
	return ", between the " + what + " of " + container + " and separated by a comma"
}

// tomlSnippet returns entries as tables. TOML does not allow them if the container is an inline table
// or array: then they are members of it.
func tomlSnippet(client Client, content []byte, entries []edit) (snippet, error) {
	list := client.ContainerKind == "list"
	probe := "[" + strings.Join(client.KeyPath, ".") + ".drawbridge-probe]\n"
	if list {
		probe = "[[" + strings.Join(client.KeyPath, ".") + "]]\n"
	}
	var m map[string]any
	if toml.Unmarshal(content, &m) != nil || toml.Unmarshal([]byte(string(content)+"\n"+probe), &m) == nil {
		text, err := setAll(client, nil, entries)
		return snippet{text: text}, err
	}
	var items []string
	for _, e := range entries {
		members, err := orderedMembers(e.value)
		if err != nil {
			return snippet{}, err
		}
		var pairs []string
		for _, m := range members {
			value, err := tomlValue(m.value)
			if err != nil {
				return snippet{}, err
			}
			pairs = append(pairs, tomlKey(m.key)+" = "+value)
		}
		item := "{ " + strings.Join(pairs, ", ") + " }"
		if !list {
			item = tomlKey(e.name) + " = " + item
		}
		items = append(items, item)
	}
	what := "braces"
	if list {
		what = "brackets"
	}
	return snippet{strings.Join(items, ", "), between(what, quote(strings.Join(client.KeyPath, ".")))}, nil
}

// yamlSnippet returns entries with their container or, if the file has it, in its style.
func yamlSnippet(client Client, content []byte, entries []edit) (snippet, error) {
	key := client.KeyPath[0]
	root, value := yamlContainerNode(content, key)
	flow := make([]string, len(entries))
	for i, e := range entries {
		text, err := flowJSON(e.value)
		if err != nil {
			return snippet{}, err
		}
		if flow[i] = text; client.ContainerKind != "list" {
			flow[i] = core.QuoteJSON(e.name) + ": " + text
		}
	}
	members := strings.Join(flow, ", ")
	switch v := value.(type) {
	case nil:
		if root == nil || !root.IsFlowStyle {
			break
		}
		if members = "{" + members + "}"; client.ContainerKind == "list" {
			members = "[" + strings.Join(flow, ", ") + "]"
		}
		return snippet{core.QuoteJSON(key) + ": " + members, between("braces", "the file")}, nil
	case *ast.MappingNode:
		if v.IsFlowStyle {
			return snippet{members, between("braces", quote(key))}, nil
		}
	case *ast.SequenceNode:
		if v.IsFlowStyle {
			return snippet{members, between("brackets", quote(key))}, nil
		}
	}
	var s snippet
	if value != nil {
		if text, ok := yamlBlockMembers(client, content, entries); ok {
			return snippet{text, ", under " + quote(key)}, nil
		}
		s.place = ", in place of " + quote(key)
	}
	var base []byte
	if len(bytes.TrimSpace(content)) == 0 {
		base = []byte(client.InitialContent)
	}
	var err error
	s.text, err = setAll(client, base, entries)
	return s, err
}

// yamlBlockMembers returns entries as lines to add to the container. ok is false if the container is
// empty or cannot be located.
func yamlBlockMembers(client Client, content []byte, entries []edit) (text string, ok bool) {
	f, err := parseYAML(content, client)
	if err != nil {
		return "", false
	}
	c, err := f.findContainer(client.KeyPath)
	if err != nil || len(c.children) == 0 {
		return "", false
	}
	for _, e := range entries {
		lines, err := f.render(e.name, e.value, c.column)
		if err != nil {
			return "", false
		}
		text += lines
	}
	return text, true
}

// yamlContainerNode returns the mapping of a file and the value of key in it. Both are nil for a file
// that is not one valid mapping; value is nil if the key does not exist.
func yamlContainerNode(content []byte, key string) (root *ast.MappingNode, value ast.Node) {
	defer func() { // the parser panics on some invalid files
		if recover() != nil {
			root, value = nil, nil
		}
	}()
	tree, err := parser.ParseBytes(bytes.ReplaceAll(newSource(content).src, []byte("\r\n"), []byte("\n")), 0)
	if err != nil || len(tree.Docs) != 1 {
		return nil, nil
	}
	switch body := tree.Docs[0].Body.(type) {
	case *ast.MappingNode:
		root = body
	case *ast.MappingValueNode:
		root = &ast.MappingNode{BaseNode: &ast.BaseNode{}, Values: []*ast.MappingValueNode{body}}
	default:
		return nil, nil
	}
	for _, m := range root.Values {
		if m.Key.GetToken().Value == key {
			value = m.Value
		}
	}
	return root, value
}

// flowJSON returns a JSON value on one line, which is also YAML in flow style.
func flowJSON(raw json.RawMessage) (string, error) {
	var items []string
	trimmed := bytes.TrimSpace(raw)
	switch trimmed[0] {
	case '{':
		members, err := orderedMembers(trimmed)
		if err != nil {
			return "", err
		}
		for _, m := range members {
			text, err := flowJSON(m.value)
			if err != nil {
				return "", err
			}
			items = append(items, core.QuoteJSON(m.key)+": "+text)
		}
		return "{" + strings.Join(items, ", ") + "}", nil
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(trimmed, &list); err != nil {
			return "", err
		}
		for _, one := range list {
			text, err := flowJSON(one)
			if err != nil {
				return "", err
			}
			items = append(items, text)
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	}
	return yamlScalar(trimmed), nil
}
