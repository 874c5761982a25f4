package policy

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestGrantHoldsForItsSessionAndArguments(t *testing.T) {
	for _, c := range []struct {
		name, where, scope string
		arguments, session string // of the second call
		after              time.Duration
		asked              bool
	}{
		{"the same session", ``, approvals.Session, `{}`, "one", time.Hour, false},
		{"another session", ``, approvals.Session, `{}`, "two", 0, true},
		{"no session", ``, approvals.Session, `{}`, "", 0, true},
		{"minutes hold for all sessions", ``, approvals.Minutes, `{}`, "two", time.Minute, false},
		{"they pass", ``, approvals.Minutes, `{}`, "one", GrantTime, true},
		{"arguments that match", `{"/path":{"under":"/nowhere/a"}}`, approvals.Session, `{"path":"/nowhere/a/c"}`, "one", 0, false},
		{"arguments that do not", `{"/path":{"under":"/nowhere/a"}}`, approvals.Session, `{"path":"/nowhere/a/../b"}`, "one", 0, true},
		{"arguments that cannot be read", `{"/path":{"under":"/nowhere/a"}}`, approvals.Minutes, `{"path":"/nowhere/a","Path":"/nowhere/b"}`, "one", 0, true},
		{"a condition that cannot be read", `{"path":1}`, approvals.Minutes, `{"path":"/nowhere/a"}`, "one", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				user := &fakeUser{answer: approvals.Answer{Action: approvals.Accept, Scope: c.scope, Content: []byte(c.where)}}
				s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: user})
				first := call("put", `{"path":"/nowhere/a/b"}`)
				first.Session = "one"
				if _, err := s.make(first, "{}", nil); err != nil || !user.asked[0].Held.Session {
					t.Fatal(err, user.asked)
				}
				time.Sleep(c.after)
				second := call("put", c.arguments)
				second.Session = c.session
				_, err := s.make(second, "{}", nil)
				if asked := len(user.asked) == 2; err != nil || asked != c.asked {
					t.Errorf("asked: %v, %v", asked, err)
				}
				if !c.asked && second.Approval != core.Approval(c.scope) {
					t.Error(second.Approval)
				}
			})
		})
	}
}
