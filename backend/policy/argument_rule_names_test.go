package policy

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// argumentRules returns the rules of a configuration, and what it warns of.
func argumentRules(t *testing.T, text string) (*ArgumentRules, []config.Problem) {
	t.Helper()
	now, problems := config.Parse("c.json", []byte(text))
	require.NotNil(t, now, problems)
	return NewArgumentRules(now.Policy.Arguments, now), problems
}

func TestRuleMatchesOwnNamesWithTwoUnderscores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, server, tool, then string }{
		{`"tool": "db__drop", "then": "deny"`, "t", "db__drop", "deny"},
		{`"tool": "db__drop", "then": "ask"`, "t", "db__drop", "ask"},
		{`"tool": "db__*", "then": "deny"`, "t", "db__drop", "deny"},
		{`"tool": "new__name", "then": "deny"`, "t", "old", "deny"}, // renamed for clients
		{`"tool": "db__drop", "then": "deny"`, "db", "drop", "deny"},
		{`"tool": "db__drop", "then": "allow"`, "db", "drop", "allow"},
		{`"tool": "db__drop", "then": "allow"`, "t", "db__drop", ""}, // meant may be the tool of db
		{`"tool": "db__*", "then": "allow"`, "t", "db__drop", ""},
		{`"tool": "db__drop", "servers": "t", "then": "allow"`, "t", "db__drop", "allow"},
		{`"tool": "t__db__drop", "then": "allow"`, "t", "db__drop", "allow"},
		{`"tool": "db__drop", "servers": "db", "then": "deny"`, "t", "db__drop", ""},
	} {
		rules, _ := argumentRules(t, `{"mcpServers": {"t": {"command": "t", "tools": {"old": {"rename": "new__name"}}}, "db": {"command": "d"}},
			"policy": {"rules": [{`+c.rule+`}]}}`)
		then, _, _ := rules.Decide(&core.Call{Method: "tools/call", Server: c.server, Name: c.tool})
		assert.Equalf(t, c.then, then, "%s, %s of %s", c.rule, c.tool, c.server)
	}
}

func TestRuleNamesServerByItsNameOrID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, server, then string }{
		{`"tool": "My Files__pay", "then": "deny"`, "My-Files", "deny"},
		{`"tool": "My Files__pay", "then": "allow"`, "My-Files", "allow"},
		{`"tool": "My-Files__pay", "then": "deny"`, "My-Files", "deny"},
		{`"tool": "My F*__pay", "then": "deny"`, "My-Files", "deny"},
		{`"tool": "a.b__p*", "then": "ask"`, "a-b", "ask"},
		{`"tool": "a.b__pay", "then": "ask"`, "My-Files", ""},
	} {
		rules, problems := argumentRules(t, `{"mcpServers": {"My Files": {"command": "t"}, "a.b": {"command": "d"}}, "policy": {"rules": [{`+c.rule+`}]}}`)
		then, _, _ := rules.Decide(&core.Call{Method: "tools/call", Server: c.server, Name: "pay"})
		assert.Truef(t, then == c.then && len(problems) <= 0, "%s of %s: %q, not %q; %v", c.rule, c.server, then, c.then, problems)
	}
}

func TestTrialTellsWhichCallsDependOnTheirProfile(t *testing.T) {
	t.Parallel()
	rules, _ := argumentRules(t, `{"mcpServers": {"t": {"command": "t"}}, "profiles": {"p": {}, "q": {}}, "clients": {"bound": {"profile": "q"}},
		"policy": {"rules": [{"tool": "t__drop", "profiles": "p", "then": "deny"}, {"then": "ask"}]}}`)
	for _, c := range []struct {
		client, tool string
		want         bool
	}{{"free", "drop", true}, {"bound", "drop", false}, {"free", "read", false}} {
		assert.Equal(t, c.want, rules.DependsOnProfile(&core.Call{Method: "tools/call", Server: "t", Name: c.tool, Client: core.Client{Token: c.client}}))
	}
}
