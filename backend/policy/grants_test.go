package policy

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An approval for the session releases the calls of the session that wait for the same answer.
func TestGrantReleasesPendingCallsThatItCovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inbox := approvals.New(approvals.Options{Bus: &core.Bus{}})
		s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: inbox})
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		var done []string
		var mu sync.Mutex
		start := func(name, session, arguments string) {
			c := call("put", arguments)
			c.Session = session
			calls.Go(func() {
				plan, err := s.Admit(ctx, c, nil)
				if err == nil {
					s.End(plan, core.Reply{Result: []byte("{}")}, nil, true)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					done = append(done, name+" "+string(c.Approval))
				}
			})
			synctest.Wait()
		}
		start("first", "one", `{"path":"`+volume+`/nowhere/a/b"}`)
		start("same", "one", `{"path":"`+volume+`/nowhere/a/c"}`)
		start("other arguments", "one", `{"path":"`+volume+`/nowhere/b"}`)
		start("other session", "two", `{"path":"`+volume+`/nowhere/a/b"}`)
		pending := inbox.List()
		err := inbox.AnswerFor(t.Context(), pending[0].ID, approvals.Accept, approvals.Session, pending[0].Held.Seen, []byte(`{"/path":{"under":"`+volume+`/nowhere/a"}}`))
		require.Truef(t, err == nil && len(pending) == 4, "%v %v", err, pending)
		synctest.Wait()
		mu.Lock()
		slices.Sort(done)
		if want := []string{"first session", "same session"}; !slices.Equal(done, want) || len(inbox.List()) != 2 {
			t.Errorf("done are %q, %d wait; want %q", done, len(inbox.List()), want)
		}
		mu.Unlock()
		cancel()
		calls.Wait()
	})
}

// Such as after "Always allow", which changes the configuration.
func TestRulesThatNoLongerAskReleasePendingCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &core.Bus{}
		inbox := approvals.New(approvals.Options{Bus: bus})
		s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: inbox})
		sub := bus.Subscribe(32, core.ApprovalEvent)
		defer sub.Close()
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		var mu sync.Mutex
		var done []string
		start := func(tool, client string) {
			c := call(tool, `{}`)
			c.Client.Token = client
			calls.Go(func() {
				plan, err := s.Admit(ctx, c, nil)
				if err != nil {
					return
				}
				s.End(plan, core.Reply{Result: []byte("{}")}, nil, true)
				mu.Lock()
				defer mu.Unlock()
				done = append(done, tool+" "+client+" "+string(c.Approval))
			})
			synctest.Wait()
		}
		want := func(pending int, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if slices.Sort(done); !slices.Equal(done, want) || len(inbox.List()) != pending {
				t.Errorf("done are %q, %d pending; want %q", done, len(inbox.List()), want)
			}
		}
		start("put", "cursor")
		start("put", "other")
		start("delete", "cursor")
		start("plain", "cursor")
		s.apply(`, "approval": "ask", "tools": {"put": {"allowClients": ["cursor"]}}`, ``)
		want(3, "put cursor always")
		s.apply(`, "approval": "never", "tools": {"delete": {"approval": "ask"}}`, `"policy": {"rules": [{"tool": "files__put", "then": "deny"}]}, `)
		want(1, "plain cursor always", "put cursor always")
		s.apply(`, "approval": "ask"`, `"policy": {"rules": [{"tool": "files__delete", "servers": ["files"], "then": "allow"}]}, `)
		want(0, "delete cursor always", "plain cursor always", "put cursor always")
		for range 4 + 4 {
			if item := (<-sub.Events()).Data.(approvals.Item); item.State != "" && item.State != approvals.Accept && item.Tool+item.Client.Token != "putother" {
				t.Errorf("%s ended as %s", item.Tool, item.State)
			}
		}
		cancel()
		calls.Wait()
	})
}

func TestGrantEndsWithTokenOfItsClient(t *testing.T) {
	var token [sha256.Size]byte
	user := &fakeUser{answer: approvals.Answer{Action: approvals.Accept, Scope: approvals.Minutes}}
	s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: user, Credential: func(string) ([sha256.Size]byte, bool) { return token, true }})
	for i, asked := range []int{1, 1, 2} {
		if i == 2 {
			token[0]++ // rotated, or revoked and created again
		}
		if _, err := s.make(call("put", `{}`), "{}", nil); err != nil || len(user.asked) != asked {
			t.Fatalf("call %d: the user was asked %d times, %v", i, len(user.asked), err)
		}
	}
}

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
		{"arguments that match", `{"/path":{"under":"` + volume + `/nowhere/a"}}`, approvals.Session, `{"path":"` + volume + `/nowhere/a/c"}`, "one", 0, false},
		{"arguments that do not", `{"/path":{"under":"` + volume + `/nowhere/a"}}`, approvals.Session, `{"path":"` + volume + `/nowhere/a/../b"}`, "one", 0, true},
		{"arguments that cannot be read", `{"/path":{"under":"` + volume + `/nowhere/a"}}`, approvals.Minutes, `{"path":"` + volume + `/nowhere/a","Path":"` + volume + `/nowhere/b"}`, "one", 0, true},
		{"a condition that cannot be read", `{"path":1}`, approvals.Minutes, `{"path":"` + volume + `/nowhere/a"}`, "one", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				user := &fakeUser{answer: approvals.Answer{Action: approvals.Accept, Scope: c.scope, Content: []byte(c.where)}}
				s := withRules(t, `, "approval": "ask"`, ``, Options{Approvals: user})
				first := call("put", `{"path":"`+volume+`/nowhere/a/b"}`)
				first.Session = "one"
				if _, err := s.make(first, "{}", nil); err != nil || !user.asked[0].Held.Session {
					t.Fatal(err, user.asked)
				}
				time.Sleep(c.after)
				second := call("put", c.arguments)
				second.Session = c.session
				_, err := s.make(second, "{}", nil)
				asked := len(user.asked) == 2
				assert.Truef(t, err == nil && asked == c.asked, "asked: %v, %v", asked, err)
				if !c.asked && second.Approval != core.Approval(c.scope) {
					t.Error(second.Approval)
				}
			})
		})
	}
}
