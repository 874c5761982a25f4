package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// builtinServer is the id of the server that Drawbridge itself provides.
const builtinServer = "drawbridge"

// checkRuleServers warns about rules that name a server that is not configured. Names with
// wildcards are not checked, nor are tools, which are unknown while a server is stopped.
func (r *reader) checkRuleServers(c *Config) {
	known := []string{builtinServer}
	for _, s := range c.Servers {
		known = append(known, s.ID, s.Label)
		if s.Namespace != "" {
			known = append(known, s.Namespace)
		}
	}
	for _, p := range r.problems { // a server that is left out exists
		if p.Server != "" {
			known = append(known, p.Server, core.Slug(p.Server))
		}
	}
	for i := range c.Policy.Arguments {
		rule := &c.Policy.Arguments[i]
		warn := func(key, name, suggestion string) {
			if near := nearest(name, known); near != "" {
				suggestion = fmt.Sprintf("did you mean '%s'?", near)
			}
			r.problems = append(r.problems, Problem{File: rule.Source.File, Line: rule.Source.Line, Column: rule.Source.Column, Key: rule.Key + "." + key, Warning: true,
				Message: fmt.Sprintf("%s refers to server '%s', which is not configured", rule.Key, name), Suggestion: suggestion})
		}
		for _, name := range rule.Servers {
			if !slices.Contains(known, name) {
				warn("servers", name, "")
			}
		}
		name, _, ok := strings.Cut(rule.Tool, "__")
		if ok && len(rule.Servers) == 0 && !strings.ContainsAny(name, "*?") && !slices.Contains(known, name) {
			warn("tool", name, fmt.Sprintf("if '%s__' is part of the tool's own name, name the tool's server in 'servers'", name))
		}
	}
}
