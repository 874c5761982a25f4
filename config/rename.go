package config

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/tailscale/hujson"
)

// rename is the change of the id and the label of a server.
type rename struct{ from, to, fromLabel, toLabel string }

// tool returns the tool pattern of a rule under the new id. servers are those of the rule. A
// pattern that names the server only with wildcards stays as it is.
func (n rename) tool(pattern string, servers []string) string {
	if len(servers) > 0 && !slices.ContainsFunc(servers, func(s string) bool { return s == n.from || s == n.fromLabel }) {
		return pattern
	}
	for _, name := range []string{n.from, n.fromLabel} {
		if tool, ok := strings.CutPrefix(pattern, name+"__"); ok {
			return n.server(name) + "__" + tool
		}
	}
	return pattern
}

// server returns an element of the servers of a rule under the new name.
func (n rename) server(name string) string {
	switch name {
	case n.from:
		return n.to
	case n.fromLabel:
		return n.toLabel
	}
	return name
}

// affects reports whether the rule changes with the name of the server.
func (n rename) affects(rule *ArgumentRule) bool {
	return n.tool(rule.Tool, rule.Servers) != rule.Tool || slices.ContainsFunc(rule.Servers, func(s string) bool { return n.server(s) != s })
}

// isIn reports whether a file may refer to the server.
func (n rename) isIn(c *Config, file string) bool {
	return slices.ContainsFunc(c.Profiles, func(p Profile) bool {
		_, named := p.Servers[n.from]
		return p.Source.File == file && (named || p.Accounts[n.from] != "")
	}) || slices.ContainsFunc(c.Servers, func(s Server) bool { return s.Source.File == file && s.Replay.Server == n.from })
}

// warnings describes the references that are not renamed: those in YAML files, and rules that apply
// to other tools than before because their pattern matches only one of the two names.
func (n rename) warnings(c *Config, file string) (list []string) {
	if n.from == n.to {
		return nil
	}
	for i := range c.Policy.Arguments {
		rule := &c.Policy.Arguments[i]
		if n.tool(rule.Tool, rule.Servers) != rule.Tool || !strings.Contains(rule.Tool, "__") ||
			len(rule.Servers) > 0 && !slices.ContainsFunc(rule.Servers, func(s string) bool { return n.server(s) != s || s == n.to || s == n.toLabel }) {
			continue
		}
		before, after := patternStates(rule.Tool, n.from+"__"), patternStates(rule.Tool, n.to+"__")
		if !slices.Equal(before, after) || !slices.Equal(patternStates(rule.Tool, n.fromLabel+"__"), patternStates(rule.Tool, n.toLabel+"__")) {
			list = append(list, fmt.Sprintf("%s was not changed: its pattern '%s' may not match the same tools under the new name '%s' as under '%s'", rule.Key, rule.Tool, n.to, n.from))
		}
	}
	for _, p := range c.Profiles {
		if _, named := p.Servers[n.from]; named && p.Source.File != file && IsYAML(p.Source.File) {
			list = append(list, fmt.Sprintf("profile '%s' still refers to '%s', because its file %s is YAML and cannot be edited automatically", p.Name, n.from, p.Source.File))
		}
	}
	for _, s := range c.Servers {
		if s.Replay.Server == n.from && s.Source.File != file && IsYAML(s.Source.File) {
			list = append(list, fmt.Sprintf("server '%s' still replays '%s', because its file %s is YAML and cannot be edited automatically", s.ID, n.from, s.Source.File))
		}
	}
	return list
}

// patternStates returns the positions in a pattern, as of config.Match, from which the rest of a
// name could be matched after prefix. If they are the same for two prefixes, the pattern matches
// the same names after both.
func patternStates(pattern, prefix string) []int {
	add := func(states map[int]bool, p int) {
		states[p] = true
		for p < len(pattern) && pattern[p] == '*' {
			p++
			states[p] = true
		}
	}
	states := map[int]bool{}
	add(states, 0)
	for _, c := range prefix {
		next := map[int]bool{}
		for p := range states {
			switch {
			case p == len(pattern):
			case pattern[p] == '*':
				add(next, p)
			case pattern[p] == '?':
				add(next, p+1)
			case strings.HasPrefix(pattern[p:], string(c)):
				add(next, p+utf8.RuneLen(c))
			}
		}
		states = next
	}
	return slices.Sorted(maps.Keys(states))
}

// renameReferences renames the server in all profiles, clients, rules and replay servers.
func (d *Document) renameReferences(n rename) {
	root := d.root.Value.(*hujson.Object)
	for _, entry := range slices.Concat(members(root, "profiles"), members(root, "clients")) {
		o, ok := entry.Value.Value.(*hujson.Object)
		if !ok {
			continue
		}
		for _, references := range [][]hujson.ObjectMember{members(o, "servers"), members(o, "accounts")} {
			i := slices.IndexFunc(references, func(m hujson.ObjectMember) bool {
				name := memberKey(m)
				return strings.EqualFold(name, n.from) || name == n.fromLabel || strings.EqualFold(core.Slug(name), n.from)
			})
			if i >= 0 {
				references[i].Name.Value = hujson.String(n.to)
			}
		}
	}
	for _, m := range members(root, "policy") {
		list, ok := m.Value.Value.(*hujson.Array)
		if !ok || memberKey(m) != "rules" {
			continue
		}
		for _, e := range list.Elements {
			if rule, ok := e.Value.(*hujson.Object); ok {
				n.renameInRule(rule)
			}
		}
	}
	for _, s := range d.servers() {
		n.renameReplayed(s.value)
	}
}

func (n rename) renameInRule(rule *hujson.Object) {
	var servers []string
	if i := memberIndex(rule, "servers"); i >= 0 {
		list := []*hujson.Value{&rule.Members[i].Value} // one name, or a list of them
		if a, ok := rule.Members[i].Value.Value.(*hujson.Array); ok {
			list = nil
			for j := range a.Elements {
				list = append(list, &a.Elements[j])
			}
		}
		for _, v := range list {
			if name, ok := stringValue(v); ok {
				servers = append(servers, name)
				setString(v, n.server(name))
			}
		}
	}
	if i := memberIndex(rule, "tool"); i >= 0 {
		v := &rule.Members[i].Value
		if pattern, ok := stringValue(v); ok {
			setString(v, n.tool(pattern, servers))
		}
	}
}

// renameReplayed renames the server whose history a replay server serves.
func (n rename) renameReplayed(server *hujson.Value) {
	o, ok := server.Value.(*hujson.Object)
	if !ok {
		return
	}
	from := members(o, "from")
	for i := range from {
		if name, ok := stringValue(&from[i].Value); ok && memberKey(from[i]) == "server" && core.Slug(name) == n.from {
			setString(&from[i].Value, n.to)
		}
	}
}

func stringValue(v *hujson.Value) (string, bool) {
	l, ok := v.Value.(hujson.Literal)
	if !ok || l.Kind() != '"' {
		return "", false
	}
	return l.String(), true
}

// setString sets a value that is a string, unless it is that already.
func setString(v *hujson.Value, text string) {
	if now, ok := stringValue(v); !ok || now != text {
		v.Value = hujson.String(text)
	}
}

// CheckRename checks whether a server can be renamed and returns its new id. It changes nothing.
func (r *Reloader) CheckRename(id, label string) (string, error) {
	s, err := r.editableServer(id)
	if err != nil {
		return "", err
	}
	if err := checkEditable(s.Source.File); err != nil {
		return "", err
	}
	to := core.Slug(label)
	if !core.ValidServerID(to) {
		return "", &core.Error{Code: core.CodeValidation, Message: "the request is not valid", Fields: []core.FieldError{{Field: "name", Error: "must contain a letter or a digit"}}}
	}
	if other, taken := r.Current().Server(to); taken && other.ID != s.ID {
		return "", core.Errorf(core.CodeConflict, "a server named %q already exists", other.ID)
	}
	if err := r.checkOtherFiles(&s, rename{from: s.ID, to: to, fromLabel: s.Label, toLabel: label}); err != nil {
		return "", err
	}
	return to, nil
}

// Rename renames a server in the file that defines it and in the profiles, clients, rules and
// replay servers that refer to it. It returns the new id, and warnings about references that it
// could not rename.
func (r *Reloader) Rename(ctx context.Context, id, label string) (to string, warnings []string, err error) {
	to, err = r.CheckRename(id, label)
	if err != nil {
		return "", nil, err
	}
	s, err := r.editableServer(id)
	if err != nil {
		return "", nil, err
	}
	change := rename{from: s.ID, to: to, fromLabel: s.Label, toLabel: label}
	before := r.Current()
	warnings = change.warnings(before, s.Source.File)
	err = r.Edit(ctx, s.Source.File, func(d *Document) error {
		d.renameReferences(change)
		return d.Rename(s.Label, label)
	})
	if err != nil || to == s.ID {
		return to, warnings, err
	}
	for _, file := range before.Files { // those without a reference are not written
		if file == s.Source.File || IsYAML(file) || !change.isIn(before, file) {
			continue
		}
		if err := r.Edit(ctx, file, func(d *Document) error { d.renameReferences(change); return nil }); err != nil {
			return to, warnings, err
		}
	}
	return to, warnings, nil
}

// checkOtherFiles returns an error if another file than that of the server chooses an account of
// it, or has a rule about it. Between two edits, calls would use another account, or the rule would
// not apply to them.
func (r *Reloader) checkOtherFiles(s *Server, change rename) error {
	what, file := "an account of server \""+s.ID+"\" is selected", ""
	if change.to != s.ID {
		file = r.fileChoosingAccount(s)
	}
	for _, rule := range r.Current().Policy.Arguments {
		if o := r.serverWithNamespace(s.ID, change.from, change.to); o != "" && change.tool(rule.Tool, rule.Servers) != rule.Tool {
			return &core.Error{Code: core.CodeConflict, Message: rule.Key + " refers to server \"" + s.ID + "\", and server \"" + o + "\" uses the old or the new name as its namespace",
				Hint: "Give \"" + o + "\" another namespace first, or edit the rule."}
		}
		if file == "" && rule.Source.File != s.Source.File && change.affects(&rule) {
			what, file = rule.Key+" refers to server \""+s.ID+"\", but is", rule.Source.File
		}
	}
	if file == "" {
		return nil
	}
	return &core.Error{Code: core.CodeConflict, Message: what + " in another file: " + file,
		Hint: "Pause all servers, then rename the server in both files in a text editor."}
}

// serverWithNamespace returns another server than id that has one of the namespaces, or "".
func (r *Reloader) serverWithNamespace(id string, namespaces ...string) string {
	for _, o := range r.Current().Servers {
		if o.ID != id && o.Namespace != "" && slices.Contains(namespaces, o.Namespace) {
			return o.ID
		}
	}
	return ""
}

// fileChoosingAccount returns a file other than that of the server in which a profile or client
// chooses an account of it, or "".
func (r *Reloader) fileChoosingAccount(s *Server) string {
	c := r.Current()
	for _, p := range c.Profiles {
		if p.Accounts[s.ID] != "" && p.Source.File != s.Source.File {
			return p.Source.File
		}
	}
	for _, client := range c.Clients {
		if client.Accounts[s.ID] != "" && client.Source.File != s.Source.File {
			return client.Source.File
		}
	}
	return ""
}

// Rename renames the server called label; everything else keeps its bytes.
func (d *Document) Rename(label, to string) error {
	if o, _ := d.findServer(to); o != nil && to != label {
		return core.Errorf(core.CodeConflict, "a server named %q already exists", to)
	}
	s := d.server(label)
	if s == nil {
		return serverNotFoundError(label)
	}
	s.label.Value = hujson.String(to)
	return nil
}

// members returns the members of the object under name, or nil if there is no such object.
func members(o *hujson.Object, name string) []hujson.ObjectMember {
	if i := memberIndex(o, name); i >= 0 {
		if inner, ok := o.Members[i].Value.Value.(*hujson.Object); ok {
			return inner.Members
		}
	}
	return nil
}

func memberKey(m hujson.ObjectMember) string {
	l, _ := m.Name.Value.(hujson.Literal)
	return l.String()
}
