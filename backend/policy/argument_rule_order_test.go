package policy

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const orderedRules = `"policy": {"rules": [
	{"tool": "put", "where": {"/p": {"glob": "a*"}}, "then": "ask", "because": "it begins with a."},
	{"tool": "files__pu*", "where": {"/p": {"glob": "?b"}}, "then": "deny"},
	{"tool": "files__put", "where": {"/p/*": {"glob": "ok"}}, "then": "allow"},
	{"clients": ["other*"], "then": "deny", "because": "no"},
	{"profiles": ["office"], "then": "deny"},
	{"servers": ["elsewhere"], "then": "deny"}
]}, `

func TestFirstRuleOnArgumentsDecides(t *testing.T) {
	user := &fakeUser{answer: approvals.Answer{Action: approvals.Accept}}
	s := withRules(t, `, "approval": "ask", "tools": {"delete": {"approval": "deny"}}`, orderedRules, Options{Approvals: user})
	const approval = "mcpServers.files.approval"
	for _, c := range []struct{ tool, arguments, client, profile, result, key string }{
		{"put", `{"p":"a"}`, "cursor", "", Ask, "policy.rules[0]"},
		{"put", `{"p":"ab"}`, "cursor", "", Ask, "policy.rules[0]"},
		{"put", `{"p":"bb"}`, "cursor", "", Refuse, "policy.rules[1]"},
		{"put", `{"p":["ab"]}`, "cursor", "", Refuse, "policy.rules[1]"}, // unreadable for ask and deny
		{"put", `{"q":["ok"]}`, "cursor", "", Ask, approval},
		{"plain", `{"p":"bb"}`, "cursor", "", Ask, approval}, // no rule
		{"plain", `{}`, "others", "", Refuse, "policy.rules[3]"},
		{"plain", `{}`, "", "", Ask, approval},
		{"plain", `{}`, "cursor", "office", Refuse, "policy.rules[4]"},
		{"delete", `{}`, "cursor", "", Refuse, "mcpServers.files.tools.delete.approval"},
	} {
		e, err := s.Explain(ExplainRequest{Server: "files", Tool: c.tool, Client: c.client, Profile: c.profile, Arguments: []byte(c.arguments)})
		require.NoError(t, err)
		require.Equal(t, c.result != Refuse, e.Passes)
		decided := false
		for _, v := range e.Checks {
			decided = decided || v.Result == c.result && v.Key == c.key
		}
		assert.Equal(t, strings.Contains(c.key, "rules[3]"), e.Rule == `{"clients": ["other*"], "then": "deny", "because": "no"}`, e.Rule)
		assert.Truef(t, decided, "%+v: %+v", c, e.Checks)
		made := call(c.tool, c.arguments)
		made.Client.Token, made.Profile = c.client, c.profile
		if _, err = s.make(made, "{}", nil); (err == nil) != e.Passes {
			t.Errorf("%+v: %v", c, err)
		}
		if denied, ok := errors.AsType[*core.Error](err); ok && strings.HasPrefix(c.key, "policy.rules") && (denied.Setting != c.key || strings.Contains(denied.Message+denied.Hint, "policy.rules") || !strings.Contains(denied.Message, ": rule ")) {
			t.Errorf("%+v: the error names %q: %v %s", c, denied.Setting, denied, denied.Hint)
		}
	}
	if e, _ := s.Explain(ExplainRequest{Server: "files", Tool: "put", Client: "cursor"}); !e.Passes || !strings.Contains(e.Checks[4].Detail, "policy.rules[1] (deny)") {
		t.Errorf("%+v", e.Checks[4])
	}
	s.apply(``, ``) // a new configuration applies at once
	_, err := s.make(call("put", `{"p":"bb"}`), "{}", nil)
	assert.NoError(t, err)
}

// An allow rule needs no approval, but does not lift a setting that denies.
func TestRuleOverridesApproval(t *testing.T) {
	s := withRules(t, `, "approval": "ask", "tools": {"delete": {"approval": "deny"}}`,
		`"policy": {"clients": {"strict": {"approval": "ask"}}, "rules": [{"where": {"/p": {"glob": "ok"}}, "then": "allow"}]}, `, Options{})
	for _, c := range []struct {
		tool, arguments, client string
		passes                  bool
	}{
		{"put", `{"p":"ok"}`, "cursor", true}, {"put", `{"p":"ok"}`, "strict", true}, {"put", `{"p":"no"}`, "cursor", false},
		{"put", `{"P":"ok"}`, "cursor", false}, {"put", `{"p":"no","p":"ok"}`, "cursor", false}, {"delete", `{"p":"ok"}`, "cursor", false},
	} {
		made := call(c.tool, c.arguments)
		made.Client.Token = c.client
		_, err := s.make(made, "{}", nil)
		assert.Equal(t, c.passes, err == nil)
	}
}

// A permission for ten minutes that was given for one question does not answer that of a rule.
func TestGrantHoldsForItsRuleOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user := &fakeUser{answer: approvals.Answer{Action: approvals.Accept, Scope: approvals.Minutes}}
		s := withRules(t, `, "approval": "ask"`, `"policy": {"rules": [{"where": {"/p": {"glob": "a"}}, "then": "ask", "because": "It is a."}]}, `, Options{Approvals: user})
		for i, arguments := range []string{`{"p":"b"}`, `{"p":"a"}`, `{"p":"b"}`, `{"p":"a"}`} {
			made := call("put", arguments)
			if _, err := s.make(made, "{}", nil); err != nil || len(user.asked) != min(i+1, 2) || made.Approval != core.ApprovedMinutes {
				t.Errorf("%d: %v, asked %d times", i, err, len(user.asked))
			}
		}
		assert.Equal(t, "Approval is required by your rule 1: It is a.", user.asked[1].Held.Why)
		assert.Equal(t, [2]string{"policy.rules[0]", `{"where": {"/p": {"glob": "a"}}, "then": "ask", "because": "It is a."}`}, [2]string{user.asked[1].Held.Rule, user.asked[1].Held.RuleText})
		time.Sleep(GrantTime)
		if _, err := s.make(call("put", `{"p":"a"}`), "{}", nil); err != nil || len(user.asked) != 3 {
			t.Error(err, len(user.asked))
		}
	})
}
