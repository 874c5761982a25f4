package policy

import (
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestTrialTellsWhichCallsDependOnTheirProfile(t *testing.T) {
	t.Parallel()
	now, problems := config.Parse("c.json", []byte(`{"mcpServers": {"t": {"command": "t"}}, "profiles": {"p": {}, "q": {}}, "clients": {"bound": {"profile": "q"}},
		"policy": {"rules": [{"tool": "t__drop", "profiles": "p", "then": "deny"}, {"then": "ask"}]}}`))
	if now == nil {
		t.Fatal(problems)
	}
	rules := NewArgumentRules(now.Policy.Arguments, now)
	for _, c := range []struct {
		client, tool string
		want         bool
	}{{"free", "drop", true}, {"bound", "drop", false}, {"free", "read", false}} {
		if got := rules.DependsOnProfile(&core.Call{Method: "tools/call", Server: "t", Name: c.tool, Client: core.Client{Token: c.client}}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
