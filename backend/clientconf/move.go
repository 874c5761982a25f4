package clientconf

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Take plans to import servers of a client into our configuration without changing the
// client. names selects servers; none means all.
func (c *Connector) Take(choice Choice, names []string) (*Taking, error) {
	all, err := c.chosen(choice, names, true)
	if err != nil {
		return nil, err
	}
	o, _, err := c.takeIn(all)
	if err != nil {
		return nil, err
	}
	return &Taking{Servers: all, Path: o.Path, Diff: diff(o.Path, o.before, o.after), own: o, c: c, client: choice.Client}, nil
}

// Taking is a planned import.
type Taking struct {
	Servers []Import
	Path    string // path of our configuration
	Diff    string
	own     *ownChange
	c       *Connector
	client  string
}

// chosen returns the selected servers of a client. legacy includes those in locations that
// are only read.
func (c *Connector) chosen(choice Choice, names []string, legacy bool) (all []Import, err error) {
	found, err := c.Servers(choice)
	if err != nil {
		return nil, err
	}
	for _, i := range found {
		wanted := len(names) == 0 || slices.Contains(names, i.Name)
		if wanted && i.Skip == "" && (legacy || i.Source == "") {
			all = append(all, i)
		}
	}
	for _, name := range names {
		at := slices.IndexFunc(found, func(i Import) bool { return i.Name == name })
		if at < 0 {
			return nil, core.Errorf(core.CodeNotFound, "%s has no server called %q", choice.Client, name)
		}
		if found[at].Skip != "" {
			return nil, core.Errorf(core.CodeValidation, "%q cannot be taken over: %s", name, found[at].Skip)
		}
		if found[at].Source != "" && !legacy {
			return nil, &core.Error{Code: core.CodeValidation, Message: quote(name) + " cannot be replaced where it is: " + found[at].Source,
				Hint: "Import it instead."}
		}
	}
	if len(all) == 0 {
		return nil, core.Errorf(core.CodeNotFound, "%s has no servers to take over", choice.Client)
	}
	return all, nil
}

func (c *Connector) takeIn(all []Import) (*ownChange, map[string]string, error) {
	if c.config == "" {
		return nil, nil, errors.New("there is no configuration of ours to take servers into")
	}
	o, err := c.openOwn()
	if err != nil {
		return nil, nil, err
	}
	o.vault = c.vault
	ids, err := o.add(all)
	return o, ids, err
}

// Move plans to import servers of a client and to connect the client in the same step. Each
// original is replaced by an entry of ours with the same name, so that tool names, switches
// and permission rules keep working. With together, one entry replaces all of them, and the
// permission rules that no longer match are reported as warnings. Undo reverts both files.
func (c *Connector) Move(choice Choice, names []string, together bool) (*Plan, error) {
	all, err := c.chosen(choice, names, false)
	if err != nil {
		return nil, err
	}
	o, ids, err := c.takeIn(all)
	if err != nil {
		return nil, err
	}
	earlier, err := c.movedBefore(choice)
	if err != nil {
		return nil, err
	}
	choice.Servers = nil
	if !together {
		for _, i := range all {
			id := ids[strings.ToLower(i.Label)]
			if id == "" {
				return nil, core.Errorf(core.CodeValidation, "our configuration does not take %q", i.Label)
			}
			choice.Servers = append(choice.Servers, Single{Name: i.Name, Server: id, Scope: i.Scope})
		}
		choice.Servers = append(choice.Servers, earlier.singlesBut(choice.Servers)...)
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
	if !together {
		if err := earlier.keep(p); err != nil {
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

// movedBefore returns the record of earlier moves of the same client.
func (c *Connector) movedBefore(choice Choice) (earlier, error) {
	r, recorded, err := c.loadRecord(Key(choice.Client, choice.Project))
	if err != nil || !recorded || r.Gone {
		return earlier{}, err
	}
	return earlier{r}, nil
}

type earlier struct{ record }

// singlesBut returns the single-server entries of earlier moves that are not in now.
func (e earlier) singlesBut(now []Single) (all []Single) {
	for _, s := range e.Choice.Servers {
		if !slices.ContainsFunc(now, func(n Single) bool { return n.Name == s.Name && n.Scope == s.Scope }) {
			all = append(all, s)
		}
	}
	return all
}

// keep retains the entries that earlier moves wrote, with the switches of their originals.
func (e earlier) keep(p *Plan) (err error) {
	for _, d := range e.Edits {
		at := slices.IndexFunc(p.edits, d.same)
		if at < 0 || d.Value == nil || slices.ContainsFunc(p.takes, d.same) {
			continue
		}
		if p.edits[at].value, err = keepSwitches(p.edits[at].value, d.Value); err != nil {
			return err
		}
		p.takes = append(p.takes, edit{path: d.Path, name: d.Name})
	}
	return nil
}

// runs are the members of an entry that define what is run or called. All others are switches
// of the client.
var runs = []string{
	"command", "cmd", "args", "env", "envs", "environment", "cwd", "workingDirectory", "env_vars", "env_keys", "envFile",
	"url", "httpUrl", "serverUrl", "uri", "baseUrl", "headers", "http_headers", "env_http_headers", "requestOptions", "requestInit",
	"auth", "oauth", "bearer_token_env_var", "bearerTokenEnvVar", "api_key_env", "headersHelper", "http_headers_helper",
	"type", "transport", "transportType", "startup_timeout_sec", "connectionTimeout", "sandbox", "sandboxEnabled", "dev",
}

// keepSwitches returns our entry with the switches of the original added.
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
