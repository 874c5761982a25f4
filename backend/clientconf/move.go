package clientconf

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"drawbridge/backend/hub"
)

// Take plans to take servers of a client over into our configuration without
// touching the client: import alone. Names chooses some; none means all.
func (c *Connector) Take(choice Choice, names []string) (*Taking, error) {
	all, err := c.chosen(choice, names)
	if err != nil {
		return nil, err
	}
	o, _, err := c.takeIn(all)
	if err != nil {
		return nil, err
	}
	return &Taking{Servers: all, Path: o.Path, Diff: diff(o.Path, o.before, o.after), own: o, c: c}, nil
}

// Taking is an import that was planned.
type Taking struct {
	Servers []Import
	Path    string // of our configuration
	Diff    string
	own     *ownChange
	c       *Connector
}

// Apply writes our configuration. A running daemon sees the file change.
func (t *Taking) Apply() error { return t.own.write() }

func (c *Connector) chosen(choice Choice, names []string) (all []Import, err error) {
	found, err := c.Servers(choice)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		wanted := len(names) == 0 || slices.Contains(names, i.Name)
		if wanted && i.Skip == "" {
			all = append(all, i)
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(found, func(i Import) bool { return i.Name == name })
		if at < 0 {
			return nil, hub.Errorf(hub.CodeNotFound, "%s has no server called %q", choice.Client, name)
		}
		if found[at].Skip != "" {
			return nil, hub.Errorf(hub.CodeValidation, "%q cannot be taken over: %s", name, found[at].Skip)
		}
	}
	if len(all) == 0 {
		return nil, hub.Errorf(hub.CodeNotFound, "%s has no servers to take over", choice.Client)
	}
	return all, nil
}

func (c *Connector) takeIn(all []Import) (*ownChange, map[string]string, error) {
	if c.config == "" {
		return nil, nil, errors.New("there is no configuration of ours to take servers into")
	}
	o, err := openOwn(c.config, c.dir)
	if err != nil {
		return nil, nil, err
	}
	ids, err := o.add(all)
	return o, ids, err
}

// Move plans to take servers of a client over and to connect it in the same step:
// each original becomes an entry of ours under its old name, so that tool names,
// switches and permission rules keep working. With one entry for all (together),
// the originals go and the rules that this orphans are in the warnings. Undo takes
// both files back at once.
func (c *Connector) Move(choice Choice, names []string, together bool) (*Plan, error) {
	all, err := c.chosen(choice, names)
	if err != nil {
		return nil, err
	}
	o, ids, err := c.takeIn(all)
	if err != nil {
		return nil, err
	}
	if together {
		choice.Servers = nil
	} else {
		choice.Servers = nil
		for _, i := range all {
			id := ids[strings.ToLower(i.Label)]
			if id == "" {
				return nil, hub.Errorf(hub.CodeValidation, "our configuration does not take %q", i.Label)
			}
			choice.Servers = append(choice.Servers, Single{Name: i.Name, Server: id, Scope: i.Scope})
		}
	}
	p, err := c.open(choice)
	if err != nil {
		return nil, err
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	if p.edits, err = c.entries(p.Client, choice, p.target); err != nil {
		return nil, err
	}
	for n, i := range all {
		p.takes = append(p.takes, edit{path: i.path, name: i.Name})
		if together {
			p.edits = append(p.edits, edit{path: i.path, name: i.Name})
			p.Warnings = append(p.Warnings, c.orphans(p, i)...)
			continue
		}
		e := &p.edits[n]
		e.path = i.path
		if e.value, err = keepSwitches(e.value, i.value); err != nil {
			return nil, err
		}
	}
	for _, i := range all {
		for _, note := range i.Notes {
			p.Warnings = append(p.Warnings, i.Name+": "+note+".")
		}
	}
	p.Entry = p.edits[0].value
	if err := c.replaceOld(p); err != nil {
		return nil, err
	}
	if err := p.splice(); err != nil {
		return nil, err
	}
	p.own = o
	p.Diff = diff(o.Path, o.before, o.after) + p.Diff
	return p, nil
}

// runs are the members of an entry that say what runs or who is called; the rest are
// switches that belong to the client.
var runs = []string{
	"command", "cmd", "args", "env", "envs", "environment", "cwd", "workingDirectory", "env_vars", "env_keys", "envFile",
	"url", "httpUrl", "serverUrl", "uri", "baseUrl", "headers", "http_headers", "env_http_headers", "requestOptions", "requestInit",
	"auth", "oauth", "bearer_token_env_var", "bearerTokenEnvVar", "api_key_env", "headersHelper", "http_headers_helper",
	"type", "transport", "transportType", "startup_timeout_sec", "connectionTimeout", "sandbox", "sandboxEnabled", "dev",
}

// keepSwitches adds to our entry what the original said beyond what it runs.
func keepSwitches(ours, original json.RawMessage) (json.RawMessage, error) {
	mine, err := orderedMembers(ours)
	if err != nil {
		return nil, err
	}
	theirs, err := orderedMembers(original)
	if err != nil {
		return nil, err
	}
	for _, m := range theirs {
		if slices.Contains(runs, m.key) || string(m.value) == "null" {
			continue
		}
		if at := slices.IndexFunc(mine, func(o member) bool { return o.key == m.key }); at >= 0 {
			mine[at].value = m.value
		} else {
			mine = append(mine, m)
		}
	}
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range mine {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(jsonString(m.key) + ": " + string(m.value))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String()), nil
}

// approvals are members of an entry that name tools by their old names.
var approvals = []string{"autoApprove", "alwaysAllow", "disabledTools", "enabledTools", "includeTools", "excludeTools", "enabled_tools", "disabled_tools", "available_tools", "tools"}

var ruleOf = regexp.MustCompile(`"(mcp__([A-Za-z0-9_-]+?)__[^"]*|mcp__([A-Za-z0-9_-]+))"`)

// orphans lists the permission rules that name the server i.
func (c *Connector) orphans(p *Plan, i Import) (all []string) {
	if m, err := decodeObject(i.value); err == nil {
		for _, key := range approvals {
			if list, ok := m[key].([]any); ok && len(list) > 0 {
				all = append(all, i.Name+": the list "+quote(key)+" would be lost.")
			}
		}
	}
	if p.Client.ID != "claude-code" {
		return all
	}
	dirs := []string{filepath.Join(c.system.Home, ".claude")}
	for _, dir := range []string{i.Scope, p.choice.Project} {
		if dir != "" {
			dirs = append(dirs, filepath.Join(dir, ".claude"))
		}
	}
	for _, dir := range dirs {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			path := filepath.Join(dir, name)
			src, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			for _, m := range ruleOf.FindAllStringSubmatch(string(src), -1) {
				if m[2] == i.Name || m[3] == i.Name {
					all = append(all, "the rule "+m[1]+" in "+path+" would no longer match.")
				}
			}
		}
	}
	return all
}
