package policy

import (
	"context"
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

func TestApprovalRecipients(t *testing.T) {
	const pass, ask, deny = "never", "ask", "deny"
	for _, c := range []struct{ name, server, root, tool, want string }{
		{"nothing", ``, ``, "delete", pass},
		{"a server", `, "approval": "ask"`, ``, "read", ask},
		{"a tool against its server", `, "approval": "ask", "tools": {"read": {"approval": "never"}}`, ``, "read", pass},
		{"a tool of a denied server", `, "approval": "deny", "tools": {"read": {"approval": "never"}}`, ``, "read", pass},
		{"a denied server", `, "approval": "deny"`, ``, "read", deny},
		{"all", ``, `"policy": {"approval": "ask"}, `, "read", ask},
		{"a server against all", `, "approval": "never"`, `"policy": {"approval": "ask"}, `, "read", pass},
		{"destructive, read-only", `, "approval": "destructive"`, ``, "read", pass},
		{"destructive, harmless", `, "approval": "destructive"`, ``, "put", pass},
		{"destructive", `, "approval": "destructive"`, ``, "delete", ask},
		{"destructive, nothing said", `, "approval": "destructive"`, ``, "plain", ask},
		{"destructive, trusted", `, "approval": "destructive", "trust": true`, ``, "delete", pass},
		{"a client", ``, `"policy": {"clients": {"cursor": {"approval": "ask"}}}, `, "read", ask},
		{"another client", ``, `"policy": {"clients": {"other": {"approval": "ask"}}}, `, "read", pass},
		{"a client cannot be laxer", `, "approval": "ask"`, `"policy": {"clients": {"cursor": {"approval": "never"}}}, `, "read", ask},
		{"a denied client", `, "tools": {"read": {"approval": "never"}}`, `"policy": {"clients": {"cursor": {"approval": "deny"}}}, `, "read", deny},
		{"a client that is allowed", `, "approval": "ask", "tools": {"read": {"allowClients": ["cursor"]}}`, ``, "read", pass},
		{"another that is allowed", `, "approval": "ask", "tools": {"read": {"allowClients": ["other"]}}`, ``, "read", ask},
		{"allowed, and denied", `, "approval": "deny", "tools": {"read": {"allowClients": ["cursor"]}}`, ``, "read", deny},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &fakeUser{answer: approvals.Answer{Action: approvals.Accept, Scope: approvals.Once}}
			s := withRules(t, c.server, c.root, Options{Approvals: p})
			made := call(c.tool, "")
			_, err := s.make(made, "{}", nil)
			if (err != nil) != (c.want == deny) || len(p.asked) != map[string]int{ask: 1}[c.want] || (made.Approval != "") != (c.want == ask) {
				t.Errorf("%v, asked %d times, noted %q", err, len(p.asked), made.Approval)
			}
			assert.False(t, err != nil && core.CodeOf(err) != core.CodeRejected, err)
		})
	}
}

func TestApprovalOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer approvals.Answer
		noted  core.Approval
		passes bool
		later  int // total questions in three calls
	}{
		{"once", approvals.Answer{Action: approvals.Accept, Scope: approvals.Once}, core.ApprovedOnce, true, 3},
		{"for a while", approvals.Answer{Action: approvals.Accept, Scope: approvals.Minutes}, core.ApprovedMinutes, true, 1},
		{"always", approvals.Answer{Action: approvals.Accept, Scope: approvals.Always}, core.ApprovedAlways, true, 3}, // until the configuration is reloaded
		{"denied", approvals.Answer{Action: approvals.Decline}, core.Denied, false, 3},
		{"closed", approvals.Answer{Action: approvals.Cancel}, core.Denied, false, 3},
		{"nobody", approvals.Answer{Action: approvals.Decline, Expired: true}, core.ApprovalExpired, false, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &fakeUser{answer: c.answer}
			s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: p})
			for range 3 {
				made := call("delete", `{"path":"/x"}`)
				_, err := s.make(made, "{}", nil)
				if (err == nil) != c.passes || made.Approval != c.noted || err != nil && core.CodeOf(err) != core.CodeRejected {
					t.Fatalf("%v, noted %q", err, made.Approval)
				}
			}
			assert.Len(t, p.asked, c.later)
			q := p.asked[0]
			if q.Kind != approvals.Call || q.Held.Arguments != `{"path":"/x"}` || q.Held.Tool != "delete" || q.Held.Effect != approvals.EffectDestructive ||
				q.Held.CallID != 7 || q.Client.Token != "cursor" || !strings.Contains(q.Message, `cursor ("Cursor") wants to call "delete" on "files"`) || q.Held.Why != `Your configuration requires approval before a tool on "files" runs.` {
				t.Errorf("%+v %+v", q, q.Held)
			}
		})
	}
}

// The reason is shown to the user, so it is a sentence and contains no configuration key.
func TestApprovalReasonIsASentence(t *testing.T) {
	for _, c := range []struct{ server, root, want string }{
		{`, "approval": "ask"`, ``, `Your configuration requires approval before a tool on "files" runs.`},
		{`, "approval": "destructive"`, ``, `Your configuration requires approval before a tool on "files" runs, unless it is marked non-destructive.`},
		{`, "approval": "never", "tools": {"delete": {"approval": "ask"}}`, ``, `Your configuration requires approval before "delete" on "files" runs.`},
		{`, "approval": "never"`, `"policy": {"clients": {"cursor": {"approval": "ask"}}}, `, `Your configuration requires approval before cursor ("Cursor") calls a tool.`},
	} {
		p := &fakeUser{answer: approvals.Answer{Action: approvals.Accept}}
		s := withRules(t, c.server, c.root, Options{Approvals: p})
		if _, err := s.make(call("delete", ""), "{}", nil); err != nil || len(p.asked) != 1 {
			t.Fatal(err, p.asked)
		}
		assert.Equalf(t, c.want, p.asked[0].Held.Why, "%s %s", c.server, c.root)
	}
}

func TestTemporaryPermissionExpiresAndIsRevocable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeUser{answer: approvals.Answer{Action: approvals.Accept, Scope: approvals.Minutes}}
		s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: p})
		ask := func(change func(*core.Call)) int {
			c := call("delete", "")
			change(c)
			before := len(p.asked)
			_, err := s.make(c, "{}", nil)
			require.NoError(t, err)
			return len(p.asked) - before
		}
		same := func(*core.Call) {}
		assert.Equal(t, 1, ask(same), "not for a while")
		assert.Equal(t, 0, ask(same), "not for a while")
		if ask(func(c *core.Call) { c.Client.Token = "other" }) != 1 || ask(func(c *core.Call) { c.Name = "put" }) != 1 {
			t.Error("it reaches another client or tool")
		}
		if ask(func(c *core.Call) { c.Continues = true; c.Client.Token = "third" }) != 0 || ask(func(c *core.Call) { c.ByUser = true; c.Client.Token = "third" }) != 0 {
			t.Error("a further round, or the user, is asked")
		}
		g := s.Grants()
		assert.Truef(t, len(g) == 3 && g[0].Client == "cursor" && time.Until(g[0].Until) == GrantTime, "%+v", g)
		assert.True(t, s.ForgetGrants(g[1].ID))
		assert.False(t, s.ForgetGrants(g[1].ID), "it was revoked")
		assert.Equal(t, []Grant{g[0], g[2]}, s.Grants())
		time.Sleep(GrantTime)
		assert.Empty(t, s.Grants(), "it does not end")
		assert.Equal(t, 1, ask(same), "it does not end")
		s.apply(`, "approval": "ask", "args": ["another"]`, ``)
		assert.Equal(t, 1, ask(same), "it reaches another program")
		s.ForgetGrants("")
		assert.Equal(t, 1, ask(same), "it is not forgotten")
		waiting := call("delete", "")
		plan, err := s.Admit(t.Context(), waiting, nil)
		require.NoError(t, err)
		assert.NoError(t, s.Readmit(waiting, plan, nil))
		s.ForgetGrants("")
		assert.ErrorContains(t, s.Readmit(waiting, plan, nil), "the permission of the user has ended", "a call that waits keeps it")
	})
}

func TestApprovalIsNotRequestedInVain(t *testing.T) {
	p := &fakeUser{answer: approvals.Answer{Action: approvals.Accept}}
	seen := false
	s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: p, Reachable: func() bool { return seen }})
	made := call("plain", "")
	_, err := s.make(made, "{}", nil)
	if e, _ := errors.AsType[*core.Error](err); e == nil || e.Code != core.CodeRejected || !strings.Contains(e.Message, "neither the window nor the web UI") || !strings.Contains(e.Hint, "drawbridge approvals --wait") || made.Approval != core.ApprovalNobody || len(p.asked) != 0 {
		t.Errorf("%v, noted %q", err, made.Approval)
	}
	seen = true
	for range 5 {
		_, _ = s.make(call("plain", ""), "", gone)
	}
	before := len(p.asked)
	if _, err := s.make(call("plain", ""), "{}", nil); core.CodeOf(err) != core.CodeBreakerOpen || len(p.asked) != before {
		t.Errorf("%v, asked %d times", err, len(p.asked)-before)
	}
}

// With the real inbox: the deadline is two minutes, and a question is withdrawn when its caller
// cancels.
func TestApprovalDeadlineMeansDenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := approvals.New(approvals.Options{Bus: new(core.Bus)})
		s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: box})
		made := call("plain", "")
		if _, err := s.make(made, "{}", nil); core.CodeOf(err) != core.CodeRejected || made.Queued != 2*time.Minute || made.Approval != core.ApprovalExpired {
			t.Errorf("%v after %s, noted %q", err, made.Queued, made.Approval)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := s.Admit(ctx, call("plain", ""), nil); done <- err }()
		synctest.Wait()
		require.Len(t, box.List(), 1, "it does not wait")
		cancel()
		if err := <-done; core.CodeOf(err) != core.CodeCancelled || len(box.List()) != 0 {
			t.Error(err, len(box.List()))
		}
	})
}
