package clientconf

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Import is one server of a client and its conversion into our configuration.
type Import struct {
	Client string `json:"client"`
	Name   string `json:"name"`
	// Scope is the project whose section of the file contains it; "" for all projects.
	Scope string `json:"scope,omitempty"`
	// Label is its name in our configuration, Entry its content there.
	Label string          `json:"label"`
	Entry json.RawMessage `json:"entry"`
	// Have is set if our configuration already has the server, under Label.
	Have bool `json:"have"`
	// Same lists the other clients that have the same server.
	Same []string `json:"same,omitempty"`
	// Notes inform the user about the conversion. Skip is the reason why it cannot be
	// imported.
	Notes []string `json:"notes,omitempty"`
	Skip  string   `json:"skip,omitempty"`
	// Source is the file that contains it, if not the one that the client reads now.
	Source string `json:"source,omitempty"`
	// Secrets are the names under which its literal secrets will be stored.
	Secrets []string `json:"secrets,omitempty"`

	path    []string
	value   json.RawMessage   // entry of the client
	plain   json.RawMessage   // Entry with literal secrets
	secrets map[string]string // values by name
	secret  []string          // variables or headers to treat as secrets regardless of their values
}

// Servers returns the servers of a client with the conversion of each. Nothing is evaluated:
// references remain references, and commands that produce values are only marked. Our own
// entry is omitted.
func (c *Connector) Servers(choice Choice) ([]Import, error) {
	p, err := c.open(choice)
	if err != nil {
		return nil, err
	}
	all, err := c.readServers(p)
	if err != nil {
		return nil, err
	}
	all = append(all, c.legacyImports(p, all)...)
	if err := c.label(all); err != nil {
		return nil, err
	}
	if err := c.hide(all); err != nil {
		return nil, err
	}
	c.markSame(all, choice.Client)
	return all, nil
}

// readServers returns the servers in the file of p.
func (c *Connector) readServers(p *Plan) ([]Import, error) {
	if p.Path == "" {
		return nil, nil
	}
	src, existed, err := read(p.target)
	if err != nil || !existed {
		return nil, err
	}
	file, err := parse(src, p.Client)
	if err != nil {
		return nil, &core.Error{Code: core.CodeValidation, Message: "cannot read the configuration of " + p.Client.Name, Cause: err}
	}
	m, err := file.meaning()
	if err == nil {
		m, err = cloneMap(m) // TOML numbers become JSON numbers
	}
	if err != nil {
		return nil, err
	}
	all := importsAt(p, m, p.Client.KeyPath, p.choice.Project)
	if p.choice.Project != "" || p.Client.ID != "claude-code" {
		return all, nil
	}
	projects, _ := m["projects"].(map[string]any)
	for _, dir := range slices.Sorted(maps.Keys(projects)) {
		found := importsAt(p, m, scopePath(p.Client, dir), dir)
		for i := range found {
			found[i].Scope = dir
		}
		all = append(all, found...)
	}
	return all, nil
}

// importsAt returns the servers of one container: a map, or a list of entries with a name.
func importsAt(p *Plan, m map[string]any, path []string, dir string) (all []Import) {
	var container any = m
	for _, key := range path {
		object, _ := container.(map[string]any)
		container = object[key]
	}
	entries := map[string]any{}
	switch container := container.(type) {
	case map[string]any:
		entries = container
	case []any:
		for _, e := range container {
			if e, ok := e.(map[string]any); ok {
				name, _ := e["name"].(string)
				entries[name] = e
			}
		}
	}
	inputs := inputsIn(m, path)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		raw, err := json.Marshal(entries[name])
		if err != nil || isOurs(raw) {
			continue
		}
		i := Import{Client: p.Client.ID, Name: name, Label: name, path: path, value: raw}
		b := becoming{client: p.Client, dir: dir, inputs: inputs}
		entry, err := b.from(entries[name])
		if err != nil {
			i.Skip = err.Error()
		} else {
			i.Entry, _ = encode(entry)
			i.plain, i.Notes = i.Entry, b.notes
		}
		all = append(all, i)
	}
	return all
}

func encode(v any) (json.RawMessage, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return json.RawMessage(strings.TrimSpace(b.String())), err
}

// label sets the name of each server in our configuration: the client's name, unless our
// configuration or a preceding import has another server with that name.
func (c *Connector) label(all []Import) error {
	have := map[string]json.RawMessage{}
	if c.config != "" {
		o, err := c.openOwn()
		if err != nil {
			return err
		}
		if have, err = o.servers(); err != nil {
			return err
		}
		for label, entry := range have {
			have[label] = c.plainOf(entry)
		}
	}
	for n := range all {
		i := &all[n]
		if i.Skip != "" {
			continue
		}
		candidates := []string{i.Name, i.Name + "-" + i.Client}
		if i.Scope != "" {
			candidates = []string{i.Name, i.Name + "-" + filepath.Base(i.Scope)}
		}
		for k := 2; k < 100; k++ {
			candidates = append(candidates, candidates[1]+"-"+strconv.Itoa(k))
		}
		for _, label := range candidates {
			key := strings.ToLower(label)
			if other, taken := have[key]; taken && !sameServer(other, i.plain) {
				continue
			} else if taken {
				i.Have = true
			}
			i.Label, have[key] = label, i.plain
			break
		}
	}
	return nil
}

// sameServer reports whether two entries of our configuration run the same server.
func sameServer(a, b json.RawMessage) bool { return identity(a) == identity(b) }

// identity returns a key that is equal for entries that run the same server: program or URL,
// directory and settings, but not timeouts or whether it is disabled.
func identity(entry json.RawMessage) string {
	m, err := decodeObject(entry)
	if err != nil {
		return string(entry)
	}
	for key := range m {
		if !slices.Contains([]string{"command", "args", "env", "cwd", "url", "headers", "container", "inheritEnv"}, key) {
			delete(m, key)
		}
	}
	for _, key := range []string{"args", "env", "headers", "inheritEnv"} {
		switch v := m[key].(type) {
		case []any:
			if len(v) == 0 {
				delete(m, key)
			}
		case map[string]any:
			if len(v) == 0 {
				delete(m, key)
			}
		}
	}
	b, _ := json.Marshal(m)
	return string(b)
}

// markSame sets Same on each import.
func (c *Connector) markSame(all []Import, client string) {
	index := map[string][]string{}
	for _, other := range Known() {
		if other.ID == client {
			continue
		}
		p, err := c.open(Choice{Client: other.ID})
		if err != nil {
			continue
		}
		theirs, _ := c.readServers(p)
		for _, i := range theirs {
			key := identity(i.plain)
			if i.Skip == "" && !slices.Contains(index[key], other.ID) {
				index[key] = append(index[key], other.ID)
			}
		}
	}
	for n := range all {
		if all[n].Skip == "" {
			all[n].Same = index[identity(all[n].plain)]
		}
	}
}

// errNoServer is the error for an entry with neither a command nor a URL.
var errNoServer = errors.New("it says neither a command nor an address")

// millis multiplies a JSON number by factor. It returns 0 for anything that is not positive.
func millis(v any, factor float64) int64 {
	n, ok := v.(json.Number)
	if !ok {
		return 0
	}
	f, err := n.Float64()
	if err != nil || f <= 0 {
		return 0
	}
	return int64(f * factor)
}

// firstOf returns the first of the members that exists.
func firstOf(m map[string]any, keys ...string) any {
	for _, key := range keys {
		if v, ok := m[key]; ok && v != nil {
			return v
		}
	}
	return nil
}

func texts(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				all = append(all, s)
			} else if n, ok := item.(json.Number); ok {
				all = append(all, n.String())
			} else if m, ok := item.(map[string]any); ok { // codex: {name, source}
				all = append(all, cmp.Or(firstText(m, "name"), ""))
			}
		}
	}
	return all
}
