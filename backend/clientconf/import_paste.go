package clientconf

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
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
	Type     string
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

// ParsePasted prepares the servers that ReadPasted finds in a text. A name replaces that of the only one.
func (c *Connector) ParsePasted(text, name string) (*PastedServers, error) {
	all, err := ReadPasted(text)
	switch {
	case err != nil:
		return nil, err
	case name != "" && len(all) != 1:
		return nil, core.Errorf(core.CodeValidation, "the text contains %d named servers: omit NAME", len(all))
	case name != "":
		all[0].Name, all[0].Label = name, name
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
				Hint: "Choose another name, or remove that one with: drawbridge remove " + core.Slug(i.Name)}
		}
	}
	if err := extractSecrets(c.vault, all); err != nil {
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

// maxPasted limits the length of a text. The parsers recurse into brackets, that of YAML slowly, and it
// expands aliases.
const (
	maxPasted       = 1 << 20
	maxBrackets     = 50_000
	maxPastedYAML   = 32 << 10
	maxYAMLBrackets = 500
	maxAliases      = 9
)

var (
	fence     = osutil.LazyRegexp("(?is)```[a-z0-9]*\\s*\\n(.*?)```")
	yamlStart = osutil.LazyRegexp(`^(?:\s*(?:#[^\n]*|---)?\n)*\s*(?:- +)?["']?[\w.-]+["']?:(?:\s|$)`)
	yamlAlias = osutil.LazyRegexp(`\*\w`)
)

// ReadPasted returns the servers of a text as READMEs and other programs show them: the configuration of
// any supported client or a part of it as JSON, TOML or YAML, also with text around it, command lines,
// the "add" command or an install link of another program, or a URL. Nothing is run, and no request is
// sent. A server that cannot be used has a SkipReason.
func ReadPasted(text string) (all []ImportedServer, err error) {
	if len(text) > maxPasted {
		return nil, core.Errorf(core.CodeValidation, "the text is too long: at most %d KB can be read", maxPasted>>10)
	}
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	if found := fence().FindStringSubmatch(text); found != nil {
		text = strings.TrimSpace(found[1])
	}
	isWord := !strings.ContainsFunc(text, unicode.IsSpace)
	if isWord {
		if all = readLink(text); len(all) == 0 && IsURL(text) {
			all = append(all, NewServer{Name: URLName(text), URL: text}.pasted())
		}
		if len(all) > 0 {
			return all, nil
		}
	}
	if strings.Contains(text, "--add-mcp") {
		for _, word := range ShellWords(text) {
			if strings.HasPrefix(word, "{") {
				text = word
			}
		}
	}
	if all, err = readBlock(text); len(all) == 0 {
		all = readLink(text)
	}
	if isBlock := text == "" || strings.Contains(`{["`, text[:1]) || yamlStart().MatchString(text); len(all) == 0 && !isBlock {
		all = readCommandLines(text)
	}
	if len(all) > 0 {
		return all, nil
	}
	return nil, err
}

// readBlock returns the servers of a text that is a block, or contains one in JSON.
func readBlock(text string) ([]ImportedServer, error) {
	m, err := decodePasted(text)
	if err == nil {
		all, notFound := findPasted(m)
		if notFound == nil {
			return all, nil
		}
		err = notFound
	}
	if first, last := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}'); first >= 0 && first < last {
		if m, invalid := decodePasted(text[first : last+1]); invalid == nil {
			return findPasted(m)
		}
	}
	return nil, err
}

// decodePasted decodes JSON with comments (with or without the outer braces), TOML or YAML.
func decodePasted(text string) (map[string]any, error) {
	client := Client{ID: pastedClient, Format: YAML}
	switch {
	case strings.HasPrefix(text, `"`):
		text, client.Format = "{"+strings.TrimSuffix(text, ",")+"}", JSONC
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "//"), strings.HasPrefix(text, "/*"):
		client.Format = JSONC
	case strings.HasPrefix(text, "["), strings.Contains(text, "\n["):
		client.Format = TOML
	case text == "":
		return nil, errNoServers
	}
	err := errors.New("it is neither JSON, TOML nor YAML, or it is too complex")
	brackets := strings.Count(text, "[") + strings.Count(text, "{")
	isYAML := func() bool {
		return yamlStart().MatchString(text) && len(text) <= maxPastedYAML && brackets <= maxYAMLBrackets && len(yamlAlias().FindAllString(text, maxAliases+1)) <= maxAliases
	}
	if brackets <= maxBrackets && (client.Format != YAML || isYAML()) {
		var file document
		if file, err = parse([]byte(text), client); err == nil {
			var m map[string]any
			if m, err = file.decode(); err == nil {
				return cloneMap(m)
			}
		}
	}
	return nil, &core.Error{Code: core.CodeValidation, Message: "cannot read the servers", Cause: err,
		Hint: `Paste the block that a README shows, such as {"mcpServers": {"files": {"command": "npx", "args": […]}}}.`}
}

func isEntry(v any) bool {
	m, _ := v.(map[string]any)
	command := firstMember(m, "command", "cmd")
	inner, nested := command.(map[string]any)
	return command != nil && (!nested || inner["path"] != nil) || firstString(m, "httpUrl", "url", "serverUrl", "uri", "baseUrl", "container") != ""
}

var errNoServers = &core.Error{Code: core.CodeValidation, Message: "the text contains no servers",
	Hint: `A server requires a command or a url, such as {"files": {"command": "npx", "args": […]}}.`}

// findPasted returns the servers of m: m itself, those from the location where some client keeps them, or
// those directly in m.
func findPasted(m map[string]any) ([]ImportedServer, error) {
	found := foundServers{map[string]any{}, map[string][]string{}}
	if found.addExported(m) > 0 {
		m = map[string]any{"mcpServers": found.entries}
	}
	if isEntry(m) {
		m = map[string]any{"mcpServers": map[string]any{entryName(m): m}}
	}
	known := slices.Clone(Known())
	slices.SortStableFunc(known, func(a, b Client) int { return len(b.KeyPath) - len(a.KeyPath) })
	known = append(known, Client{KeyPath: []string{"mcp", "servers"}}, Client{})
	var refused []ImportedServer
	for _, client := range known {
		in, path := m, client.KeyPath
		if path == nil {
			in, path = map[string]any{"mcpServers": m}, []string{"mcpServers"}
		}
		all := readPastedContainer(client, in, path, found.notes)
		if !areAllSkipped(all) {
			return all, nil
		}
		if refused == nil {
			refused = all
		}
	}
	if len(refused) == 0 {
		return nil, errNoServers
	}
	return refused, nil
}

func areAllSkipped(all []ImportedServer) bool {
	return !slices.ContainsFunc(all, func(i ImportedServer) bool { return i.SkipReason == "" })
}

// readPastedContainer returns the servers at path, in the format of client. All forms of references
// to variables are supported, because the program that the text was written for is unknown.
func readPastedContainer(client Client, m map[string]any, path []string, notes map[string][]string) []ImportedServer {
	client.VariableForms = []string{"${}", "${env:}", "${input:}", "{env:}", pastedClient}
	all := readContainer(&Plan{Client: client, pasted: true, notes: notes}, nil, m, path, "")
	all = slices.DeleteFunc(all, func(i ImportedServer) bool {
		m, _ := decodeObject(i.original)
		return i.SkipReason != "" && !isEntry(m)
	})
	for n := range all {
		name := serverName(all[n].Name)
		all[n].Client, all[n].Name, all[n].Label = pastedClient, name, name
	}
	return all
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
	converted, failed := b.convert(theirs)
	if failed != nil { // such as a server in a container
		if len(own) == 0 {
			return nil, failed
		}
		converted = &configEntry{}
		b.convertSwitches(converted, theirs)
	}
	raw, err := core.EncodeJSON(converted)
	if err != nil || len(own) == 0 {
		return raw, err
	}
	entry, err := decodeObject(raw)
	if err != nil {
		return nil, err
	}
	if failed != nil {
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
		isTidied := v == nil || key == "name" || key == "tools" && isList // valid in our configuration, but not in its spelling
		if isOwn && !isFlagged && !isTidied {
			own[key] = v
		} else {
			theirs[key] = v
		}
	}
	return own, theirs, nil
}
