package policy

import (
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ArgumentRules are argument rules that are evaluated without a Policy, for recorded calls.
type ArgumentRules struct {
	rules   ruleset
	now     *config.Config
	servers map[string]*server
}

// NewArgumentRules compiles rules for calls to the servers of now.
func NewArgumentRules(rules []config.ArgumentRule, now *config.Config) *ArgumentRules {
	a := &ArgumentRules{rules: ruleset{arguments: compileArgumentRules(rules)}, now: now, servers: make(map[string]*server)}
	for i := range now.Servers {
		c := &now.Servers[i]
		a.servers[c.ID] = serverForRules(c)
	}
	return a
}

// serverForRules returns the parts of a server that argument rules need.
func serverForRules(c *config.Server) *server {
	return &server{id: c.ID, label: c.Label, namespace: c.Namespace, paths: compilePathSettings(c), filter: c.Filter}
}

func (a *ArgumentRules) prepare(call *core.Call) *server {
	if call.Profile == "" {
		call.Profile = a.now.Clients[call.Client.Token].Profile
	}
	if call.Profile == "" && call.Workspace != "" {
		call.Profile = a.now.ProfileOf(call.Workspace)
	}
	if s := a.servers[call.Server]; s != nil {
		return s
	}
	return &server{id: call.Server, label: call.Server}
}

// NeedsArguments reports whether the decision about a call depends on its arguments. If no rule is
// about its tool, any is false.
func (a *ArgumentRules) NeedsArguments(call *core.Call) (needs, applies bool) {
	list := a.rules.argumentRulesFor(a.prepare(call), call)
	for _, r := range list {
		needs = needs || r.where != nil
	}
	return needs, len(list) > 0
}

// DependsOnProfile reports whether the profile of a call is unknown, and a rule about its tool is
// only for some profiles.
func (a *ArgumentRules) DependsOnProfile(call *core.Call) bool {
	s := a.prepare(call)
	if call.Profile != "" || call.Method != "tools/call" {
		return false
	}
	names := namesOf(s, call)
	for i := range a.rules.arguments {
		r := &a.rules.arguments[i]
		for _, profile := range r.Profiles {
			if r.AppliesTo(call.Server, s.label, call.Client.Token, profile) && r.matchesTool(&names) {
				return true
			}
		}
	}
	return false
}

// RelativeBases returns the folders against which the server of a call may resolve relative paths,
// or nil if not all are known.
func (a *ArgumentRules) RelativeBases(call *core.Call) (folders []string) {
	e := evaluation{server: a.prepare(call), call: call}
	bases, ok := e.relativeBases()
	for _, b := range bases {
		if ok && !b.unlikely {
			folders = append(folders, b.folder)
		}
	}
	return folders
}

// Decide returns what the rules would do with a call, "" if none applies, and the key and the
// reason of the rule that decides.
func (a *ArgumentRules) Decide(call *core.Call) (then, key, why string) {
	d := decideByArguments(a.rules.arguments, a.prepare(call), call)
	if d.rule == nil {
		return "", "", ""
	}
	return d.rule.Then, d.rule.Key, d.why()
}
