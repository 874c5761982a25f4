package clientconf

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/pelletier/go-toml/v2"
)

// BundleName is the file name of the MCP bundle for clients that install bundles.
const BundleName = "drawbridge.mcpb"

// Bundle returns an MCP bundle (manifest 0.3) whose server is our shim, for a client that
// installs such extensions: unlike an entry in its configuration file, an extension survives
// when the client rewrites that file. The bundle contains no token, because the shim reads
// the token from the data directory. It is valid on this machine only, whose program path it
// names.
func (c *Connector) Bundle(client, version string) ([]byte, error) {
	row, err := ByID(client)
	if err != nil {
		return nil, err
	}
	args := []string{"stdio", "--client", row.ID}
	if c.data != "" {
		args = append(args, "--data", c.data)
	}
	launcher, script := "server/drawbridge", "#!/bin/sh\nexec "+shellQuote(c.program)
	for _, a := range args {
		script += " " + shellQuote(a)
	}
	script += "\n"
	platform := runtime.GOOS
	if platform == "windows" {
		platform, launcher = "win32", "server/drawbridge.cmd"
		script = "@\"" + filepath.FromSlash(c.program) + "\" " + strings.Join(args, " ") + "\r\n"
	}
	if version = strings.TrimPrefix(version, "v"); version == "" || version[0] < '0' || version[0] > '9' {
		version = "0.0.0"
	}
	manifest := map[string]any{
		"manifest_version": "0.3", "name": EntryName, "display_name": "Drawbridge", "version": version,
		"description": "All MCP servers that Drawbridge runs on this machine.",
		"author":      map[string]string{"name": "Drawbridge"},
		"server": map[string]any{
			"type": "binary", "entry_point": launcher,
			"mcp_config": map[string]any{"command": c.program, "args": args, "env": map[string]string{}},
		},
		"tools_generated": true, "prompts_generated": true,
		"compatibility": map[string]any{"platforms": []string{platform}},
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range []struct {
		name, text string
		mode       uint32
	}{{"manifest.json", string(text) + "\n", 0o644}, {launcher, script, 0o755}} {
		head := &zip.FileHeader{Name: f.name, Method: zip.Deflate}
		head.SetMode(0o755)
		if f.mode == 0o644 {
			head.SetMode(0o644)
		}
		w, err := z.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := fmt.Fprint(w, f.text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// ManualSetup is what the user needs to connect a client by hand.
type ManualSetup struct {
	Text   string `json:"text"`   // text to paste into the client's file or settings
	Format Format `json:"format"` // format of Text
	Path   string `json:"path"`   // path of the file; "" if the client has settings instead
	// Link is an install link that opens the client, which asks the user for confirmation; ""
	// if the client supports none. It never contains a token.
	Link string `json:"link"`
	// Bundle is the file name of the extension; "" if the client installs none.
	Bundle string   `json:"bundle"`
	Steps  []string `json:"steps"`
}

// installLinks maps a client to a function that returns the install link for an entry in the format
// of that client.
var installLinks = map[string]func(name string, entry json.RawMessage) string{
	"vscode":          namedEntryLink("vscode:mcp/install?"),
	"vscode-insiders": namedEntryLink("vscode-insiders:mcp/install?"),
	"visual-studio":   namedEntryLink("vsweb+mcp:/install?"),
	"raycast":         namedEntryLink("raycast://mcp/install?"),
	"cursor": func(n string, e json.RawMessage) string {
		return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + queryEscape(n) + "&config=" + base64Escape(string(e))
	},
	"lm-studio": func(n string, e json.RawMessage) string {
		return "lmstudio://add_mcp?name=" + queryEscape(n) + "&config=" + base64Escape(string(e))
	},
	"cherry-studio": func(n string, e json.RawMessage) string {
		return "cherrystudio://mcp/install?servers=" + base64Escape(`{"mcpServers":{`+core.QuoteJSON(n)+`:`+string(e)+`}}`)
	},
}

func namedEntryLink(prefix string) func(name string, entry json.RawMessage) string {
	return func(n string, e json.RawMessage) string { return prefix + queryEscape(prependName(n, e)) }
}

func base64Escape(s string) string { return queryEscape(base64.StdEncoding.EncodeToString([]byte(s))) }

// queryEscape returns s escaped for a query, with a space as %20, as custom schemes require.
func queryEscape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// prependName returns the entry with its name as the first member.
func prependName(name string, entry json.RawMessage) string {
	text := strings.TrimSpace(string(entry))
	if text = strings.TrimPrefix(text, "{"); strings.TrimSpace(text) == "}" {
		return `{"name":` + core.QuoteJSON(name) + "}"
	}
	return `{"name":` + core.QuoteJSON(name) + "," + text
}

// HasLink reports whether the client can be connected by an install link.
func HasLink(client Client) bool { return installLinks[client.ID] != nil }

// HasBundle reports whether the client installs MCP bundles.
func HasBundle(client Client) bool { return client.ID == "claude-desktop" }

// GenericEntry returns an entry for a client that is not known, with the same program and data folder as the others.
func (c *Connector) GenericEntry() string {
	generic := Client{Stdio: json.RawMessage(`{"command": "{{CMD}}", "args": ["{{ARG}}"]}`)}
	args := []string{"stdio"}
	if c.data != "" {
		args = append(args, "--data", c.data)
	}
	return "{\n  \"mcpServers\": {\n    \"" + EntryName + "\": " + string(stdioEntry(generic, EntryName, c.program, args)) + "\n  }\n}"
}

// ManualSetup returns what the user needs to connect a client by hand. It makes links for the
// shim only: with a URL, the link would contain the token, and links end up in histories and
// logs.
func (c *Connector) ManualSetup(choice Choice) (ManualSetup, error) {
	client, err := ByID(choice.Client)
	if err != nil {
		return ManualSetup{}, err
	}
	p, err := c.openPlan(choice)
	if err == nil && p.Path != "" {
		p.before, _, _ = readFile(p.target) // a file that cannot be read is treated as empty
	} else {
		p = &Plan{Client: client}
	}
	if p.edits, err = c.buildEdits(client, choice, ""); err != nil {
		return ManualSetup{}, err
	}
	manual := p.snippet()
	h := ManualSetup{Text: manual.text, Format: client.Format, Path: p.Path, Steps: []string{}}
	single := ServerEntry{Name: EntryName}
	if len(choice.Servers) == 1 {
		single = choice.Servers[0]
	}
	if link := installLinks[client.ID]; link != nil && !choice.HTTP && choice.Project == "" && len(choice.Servers) < 2 {
		entry := c.shimEntry(client, single)
		var v any
		if err := json.Unmarshal(entry, &v); err == nil {
			if compact, err := core.EncodeJSON(v); err == nil {
				entry = compact
			}
		}
		h.Link = link(single.Name, entry)
		h.Steps = append(h.Steps, "Open the link: "+client.Name+" shows what it would add, and asks for confirmation.")
	}
	if HasBundle(client) && choice.Project == "" {
		h.Bundle = BundleName
		h.Steps = append(h.Steps, "Or install the extension "+BundleName+" with "+client.Name+" (Settings, Extensions, Install).")
	}
	where := h.Path
	if where == "" {
		where = "the settings of " + client.Name
	}
	h.Steps = append(h.Steps, "Or add the text to "+where+manual.place+".")
	if hint := client.ApplyHint(); hint != "" {
		h.Steps = append(h.Steps, hint)
	}
	return h, nil
}

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

func setAll(client Client, content []byte, entries []edit) (string, error) {
	file := newEditing(client, content, nil)
	for _, e := range entries {
		if err := file.set(e.path, e.name, e.value); err != nil {
			return "", err
		}
	}
	return string(file.result()), nil
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
	if config.CheckDepth(content, maxDepth) != nil || toml.Unmarshal(content, &m) != nil || toml.Unmarshal([]byte(string(content)+"\n"+probe), &m) == nil {
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
	if config.CheckDepth(content, maxDepth) != nil {
		return nil, nil
	}
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
