package clientconf

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// pastedClient is who the servers of a pasted text come from.
const pastedClient = "pasted"

// Pasted are servers that the user hands over: parsed, with their secrets taken out.
type Pasted struct {
	Servers []Import
	c       *Connector
}

// NewServer describes one server in the words of our configuration.
type NewServer struct {
	Name     string
	Command  string
	Args     []string
	URL      string
	Env      map[string]string
	Headers  map[string]string
	Cwd      string
	Disabled bool
	// Secrets are variables of Env, or of Headers for an address, that are secret whatever
	// they look like.
	Secrets map[string]string
}

// Describe prepares one server to be added.
func (c *Connector) Describe(s NewServer) (*Pasted, error) {
	entry := ownEntry{Command: s.Command, Args: s.Args, URL: s.URL, Env: maps.Clone(s.Env), Headers: maps.Clone(s.Headers), Cwd: s.Cwd, Disabled: s.Disabled}
	table := &entry.Env
	if s.URL != "" {
		table = &entry.Headers
	}
	if len(s.Secrets) > 0 && *table == nil {
		*table = map[string]string{}
	}
	maps.Copy(*table, s.Secrets)
	raw, err := encode(entry)
	if err != nil {
		return nil, err
	}
	return c.pasted([]Import{{Client: pastedClient, Name: s.Name, Label: s.Name, Entry: raw, plain: raw, secret: slices.Sorted(maps.Keys(s.Secrets))}})
}

// Paste reads the servers of a text as READMEs and other programs show them: a whole
// configuration of any client that import knows, the part with the servers, or the entry of
// one server, which then needs a name.
func (c *Connector) Paste(text, name string) (*Pasted, error) {
	all, err := readPasted(text, name)
	if err != nil {
		return nil, err
	}
	return c.pasted(all)
}

func (c *Connector) pasted(all []Import) (*Pasted, error) {
	if err := c.label(all); err != nil {
		return nil, err
	}
	for _, i := range all {
		switch {
		case i.Skip != "":
			return nil, core.Errorf(core.CodeValidation, "%q cannot be added: %s", i.Name, i.Skip)
		case i.Label != i.Name:
			return nil, &core.Error{Code: core.CodeConflict, Message: "a server called " + quote(i.Name) + " exists already",
				Hint: "Choose another name, or remove that one with: drawbridge remove."}
		}
	}
	if err := c.hide(all); err != nil {
		return nil, err
	}
	return &Pasted{Servers: all, c: c}, nil
}

// Secrets are the values that are to be stored, by name.
func (p *Pasted) Secrets() map[string]string {
	all := map[string]string{}
	for _, i := range p.Servers {
		maps.Copy(all, i.secrets)
	}
	return all
}

// Write stores the secrets and writes the servers into our configuration.
func (p *Pasted) Write(ctx context.Context) error {
	o, _, err := p.c.takeIn(p.Servers)
	if err != nil {
		return err
	}
	return o.carryOut(ctx)
}

// readPasted finds the servers of a text.
func readPasted(text, name string) ([]Import, error) {
	m, err := pastedMeaning(text)
	if err != nil {
		return nil, err
	}
	var all []Import
	if isEntry(m) {
		if name == "" {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the server has no name", Hint: "Write: drawbridge add NAME '{…}'."}
		}
		all = pastedAt(Client{}, map[string]any{"mcpServers": map[string]any{name: m}}, []string{"mcpServers"})
	} else {
		if all, err = pastedServers(m); err != nil {
			return nil, err
		}
		if name != "" && len(all) != 1 {
			return nil, core.Errorf(core.CodeValidation, "the text has %d servers with names of their own: leave NAME out", len(all))
		}
	}
	for n := range all {
		if name != "" {
			all[n].Name, all[n].Label = name, name
		}
	}
	return all, nil
}

// pastedMeaning reads JSON with comments, also without its outer braces, TOML or YAML.
func pastedMeaning(text string) (map[string]any, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	client := Client{ID: pastedClient, Format: YAML}
	switch {
	case strings.HasPrefix(text, `"`):
		text, client.Format = "{"+strings.TrimSuffix(text, ",")+"}", JSONC
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "//"), strings.HasPrefix(text, "/*"):
		client.Format = JSONC
	case strings.HasPrefix(text, "["), strings.Contains(text, "\n["):
		client.Format = TOML
	}
	client.TrailingCommas = true
	file, err := parse([]byte(text), client)
	if err == nil {
		var m map[string]any
		if m, err = file.meaning(); err == nil {
			return cloneMap(m)
		}
	}
	return nil, &core.Error{Code: core.CodeValidation, Message: "cannot read the servers", Cause: err,
		Hint: `Paste the block that a README shows, such as {"mcpServers": {"files": {"command": "npx", "args": […]}}}.`}
}

// isEntry reports whether a value is the entry of one server.
func isEntry(v any) bool {
	m, _ := v.(map[string]any)
	command := firstOf(m, "command", "cmd")
	_, nested := command.(map[string]any)
	return command != nil && !nested || firstText(m, "httpUrl", "url", "serverUrl", "uri", "baseUrl") != ""
}

// pastedServers finds the part with the servers: where a client keeps them, or the whole.
func pastedServers(m map[string]any) ([]Import, error) {
	known := slices.Clone(Known())
	slices.SortStableFunc(known, func(a, b Client) int { return len(b.KeyPath) - len(a.KeyPath) })
	known = append(known, Client{KeyPath: []string{"mcp", "servers"}})
	for _, client := range known {
		if all := pastedAt(client, m, client.KeyPath); len(all) > 0 && !allSkipped(all) {
			return all, nil
		}
	}
	if all := pastedAt(Client{}, map[string]any{"mcpServers": m}, []string{"mcpServers"}); len(all) > 0 && !allSkipped(all) {
		return all, nil
	}
	return nil, &core.Error{Code: core.CodeValidation, Message: "the text has no servers",
		Hint: `A server has a command or a url, such as {"files": {"command": "npx", "args": […]}}.`}
}

func allSkipped(all []Import) bool {
	return !slices.ContainsFunc(all, func(i Import) bool { return i.Skip == "" })
}

// pastedAt reads the servers at path, written as client writes them. Every way to refer to a
// variable counts, because nobody knows which program the text was made for.
func pastedAt(client Client, m map[string]any, path []string) []Import {
	client.Vars = []string{"${}", "${env:}", "${input:}", "{env:}"}
	all := importsAt(&Plan{Client: client}, m, path, "")
	for n := range all {
		i := &all[n]
		i.Client = pastedClient
		if value, err := decodeObject(i.value); err == nil && hasOthers(value) && inOurWords(i.value) {
			i.Entry, i.plain, i.Notes, i.Skip = i.value, i.value, nil, ""
		}
	}
	return all
}

// inOurWords reports whether our configuration takes an entry as it is, with every key.
func inOurWords(entry json.RawMessage) bool {
	_, problems := config.Parse("pasted", []byte(`{"mcpServers":{"pasted":`+string(entry)+`}}`))
	return len(problems) == 0
}
