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

// pastedClient is the client id of servers from pasted text.
const pastedClient = "pasted"

// isPasted reports whether c stands for a pasted text, which may have been written for us.
func (c Client) isPasted() bool { return slices.Contains(c.VariableForms, pastedClient) }

// PastedServers are servers that the user supplied, parsed and with their secrets extracted.
type PastedServers struct {
	Servers []ImportedServer
	c       *Connector
}

// NewServer describes one server in the terms of our configuration.
type NewServer struct {
	Name     string
	Command  string
	Args     []string
	URL      string
	Env      map[string]string
	Headers  map[string]string
	Cwd      string
	Disabled bool
	// Secrets are values of Env, or of Headers if there is a URL, to treat as secrets
	// regardless of their form.
	Secrets map[string]string
}

// PrepareServer prepares one server to be added to our configuration.
func (c *Connector) PrepareServer(s NewServer) (*PastedServers, error) {
	entry := configEntry{Command: s.Command, Args: s.Args, URL: s.URL, Env: maps.Clone(s.Env), Headers: maps.Clone(s.Headers), Cwd: s.Cwd, Disabled: s.Disabled}
	table := &entry.Env
	if s.URL != "" {
		table = &entry.Headers
	}
	if len(s.Secrets) > 0 && *table == nil {
		*table = map[string]string{}
	}
	maps.Copy(*table, s.Secrets)
	raw, err := core.EncodeJSON(entry)
	if err != nil {
		return nil, err
	}
	return c.preparePasted([]ImportedServer{{Client: pastedClient, Name: s.Name, Label: s.Name, Entry: raw, literal: raw, secretKeys: slices.Sorted(maps.Keys(s.Secrets))}})
}

// ParsePasted parses the servers of a text as READMEs and other programs show them: a complete
// configuration of any supported client, the part with the servers, or the entry of one
// server, for which name is required.
func (c *Connector) ParsePasted(text, name string) (*PastedServers, error) {
	all, err := parsePasted(text, name)
	if err != nil {
		return nil, err
	}
	return c.preparePasted(all)
}

func (c *Connector) preparePasted(all []ImportedServer) (*PastedServers, error) {
	if err := c.assignLabels(all); err != nil {
		return nil, err
	}
	for _, i := range all {
		switch {
		case i.SkipReason != "":
			return nil, core.Errorf(core.CodeValidation, "cannot add %q: %s", i.Name, i.SkipReason)
		case i.Label != i.Name:
			return nil, &core.Error{Code: core.CodeConflict, Message: "a server named " + quote(i.Name) + " already exists",
				Hint: "Choose another name, or remove that one with: drawbridge remove."}
		}
	}
	if err := c.extractSecrets(all); err != nil {
		return nil, err
	}
	return &PastedServers{Servers: all, c: c}, nil
}

// Secrets returns the secrets that Write will store, by name.
func (p *PastedServers) Secrets() map[string]string {
	all := map[string]string{}
	for _, i := range p.Servers {
		maps.Copy(all, i.secretValues)
	}
	return all
}

// Write stores the secrets and adds the servers to our configuration.
func (p *PastedServers) Write(ctx context.Context) error {
	o, _, skipped, _, err := p.c.addToConfig(p.Servers)
	if err != nil {
		return err
	}
	if len(skipped) > 0 {
		return core.Errorf(core.CodeValidation, "cannot add %q: %s", skipped[0].Name, skipped[0].Reason)
	}
	return o.apply(ctx)
}

// parsePasted returns the servers of a text.
func parsePasted(text, name string) ([]ImportedServer, error) {
	m, err := decodePasted(text)
	if err != nil {
		return nil, err
	}
	var all []ImportedServer
	if isEntry(m) {
		if name == "" {
			return nil, &core.Error{Code: core.CodeValidation, Message: "the server has no name", Hint: "Write: drawbridge add NAME '{…}'."}
		}
		all = readPastedContainer(Client{}, map[string]any{"mcpServers": map[string]any{name: m}}, []string{"mcpServers"})
	} else {
		if all, err = findPasted(m); err != nil {
			return nil, err
		}
		if name != "" && len(all) != 1 {
			return nil, core.Errorf(core.CodeValidation, "the text contains %d named servers: omit NAME", len(all))
		}
	}
	for n := range all {
		if name != "" {
			all[n].Name, all[n].Label = name, name
		}
	}
	return all, nil
}

// decodePasted decodes JSON with comments (with or without the outer braces), TOML or YAML.
func decodePasted(text string) (map[string]any, error) {
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
		if m, err = file.decode(); err == nil {
			return cloneMap(m)
		}
	}
	return nil, &core.Error{Code: core.CodeValidation, Message: "cannot read the servers", Cause: err,
		Hint: `Paste the block that a README shows, such as {"mcpServers": {"files": {"command": "npx", "args": […]}}}.`}
}

// isEntry reports whether v is the entry of one server.
func isEntry(v any) bool {
	m, _ := v.(map[string]any)
	command := firstMember(m, "command", "cmd")
	inner, nested := command.(map[string]any)
	return command != nil && (!nested || inner["path"] != nil) || firstString(m, "httpUrl", "url", "serverUrl", "uri", "baseUrl") != ""
}

// findPasted returns the servers of m, from the location where some client keeps them, or
// from m itself.
func findPasted(m map[string]any) ([]ImportedServer, error) {
	known := slices.Clone(Known())
	slices.SortStableFunc(known, func(a, b Client) int { return len(b.KeyPath) - len(a.KeyPath) })
	known = append(known, Client{KeyPath: []string{"mcp", "servers"}})
	for _, client := range known {
		if all := readPastedContainer(client, m, client.KeyPath); len(all) > 0 && !areAllSkipped(all) {
			return all, nil
		}
	}
	if all := readPastedContainer(Client{}, map[string]any{"mcpServers": m}, []string{"mcpServers"}); len(all) > 0 && !areAllSkipped(all) {
		return all, nil
	}
	return nil, &core.Error{Code: core.CodeValidation, Message: "the text contains no servers",
		Hint: `A server requires a command or a url, such as {"files": {"command": "npx", "args": […]}}.`}
}

func areAllSkipped(all []ImportedServer) bool {
	return !slices.ContainsFunc(all, func(i ImportedServer) bool { return i.SkipReason == "" })
}

// readPastedContainer returns the servers at path, in the format of client. All forms of references
// to variables are supported, because the program that the text was written for is unknown.
func readPastedContainer(client Client, m map[string]any, path []string) []ImportedServer {
	client.VariableForms = []string{"${}", "${env:}", "${input:}", "{env:}", pastedClient}
	all := readContainer(&Plan{Client: client, pasted: true}, nil, m, path, "")
	for n := range all {
		all[n].Client = pastedClient
	}
	return all
}

// ConvertEntry converts one pasted entry into the format of our configuration. It returns notes for the
// user, or why the entry cannot be added.
func ConvertEntry(name string, entry []byte) (converted json.RawMessage, notes []string, err error) {
	m, err := decodeObject(entry)
	if err != nil {
		return nil, nil, &core.Error{Code: core.CodeValidation, Message: "cannot read the server", Cause: err}
	}
	i := readPastedContainer(Client{}, map[string]any{"mcpServers": map[string]any{name: m}}, []string{"mcpServers"})
	if len(i) == 0 {
		return nil, nil, core.Errorf(core.CodeValidation, "cannot add %q: it connects to Drawbridge itself", name)
	}
	if i[0].SkipReason != "" {
		return nil, nil, core.Errorf(core.CodeValidation, "cannot add %q: %s", name, i[0].SkipReason)
	}
	return i[0].Entry, i[0].Notes, nil
}

// convertPasted converts a pasted entry. Keys that our configuration has are copied as they are, whatever
// other keys stand beside them.
func (b *entryConverter) convertPasted(value any) (json.RawMessage, error) {
	original, isObject := value.(map[string]any)
	if !isObject {
		return nil, errNoObject
	}
	own, theirs, err := splitOwnKeys(original)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"includeTools", "excludeTools"} {
		if v, isOwn := own[key]; isOwn && len(b.rules) > 0 { // both apply
			theirs[key] = v
			delete(own, key)
		}
	}
	var entry map[string]any
	converted, err := b.convert(theirs)
	switch {
	case err == nil && len(own) == 0:
		return core.EncodeJSON(converted)
	case err == nil:
		raw, err := core.EncodeJSON(converted)
		if err != nil {
			return nil, err
		}
		if entry, err = decodeObject(raw); err != nil {
			return nil, err
		}
	case len(own) == 0:
		return nil, err
	default: // such as a server in a container
		converted = &configEntry{}
		b.convertSwitches(converted, theirs)
		raw, err := core.EncodeJSON(converted)
		if err != nil {
			return nil, err
		}
		if entry, err = decodeObject(raw); err != nil {
			return nil, err
		}
		for _, key := range configEntryKeys {
			if v := theirs[key]; v != nil && entry[key] == nil {
				entry[key] = v
			}
		}
		if b.disabled {
			entry["disabled"] = true
		}
	}
	maps.Copy(entry, own)
	return core.EncodeJSON(entry)
}

// splitOwnKeys splits an entry into the keys that our configuration has, with values that are valid
// there, and those to convert.
func splitOwnKeys(entry map[string]any) (own, theirs map[string]any, err error) {
	raw, err := core.EncodeJSON(entry)
	if err != nil {
		return nil, nil, err
	}
	const path = "mcpServers.pasted."
	_, problems := config.Parse("pasted", []byte(`{"mcpServers":{"pasted":`+string(raw)+`}}`))
	own, theirs = map[string]any{}, map[string]any{}
	for key, v := range entry {
		isFlagged := slices.ContainsFunc(problems, func(p config.Problem) bool {
			return p.Key == path+key || strings.HasPrefix(p.Key, path+key+".") || strings.HasPrefix(p.Key, path+key+"[")
		})
		isOwn := slices.Contains([]string{"includeTools", "excludeTools", "oauth"}, key) ||
			slices.Contains([]string{"", "tools", "harmless", "restrict"}, knownKeys().meaning("", key))
		_, isList := v.([]any)
		isTidied := v == nil || key == "tools" && isList // valid in our configuration, but not in its spelling
		if isOwn && !isFlagged && !isTidied {
			own[key] = v
		} else {
			theirs[key] = v
		}
	}
	return own, theirs, nil
}
