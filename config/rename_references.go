package config

import (
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
