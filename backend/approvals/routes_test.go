package approvals_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site is the feature, and what it wrote to the configuration.
type site struct {
	*webtest.Site
	inbox     *approvals.Inbox
	changes   *core.Subscription
	mu        sync.Mutex
	did       []string
	addedRule string
}

func newSite(t *testing.T) *site {
	t.Helper()
	bus := &core.Bus{}
	s := &site{inbox: approvals.New(approvals.Options{Bus: bus}), changes: bus.Subscribe(64, core.ApprovalEvent)}
	t.Cleanup(s.changes.Close)
	s.Site = webtest.New(&approvals.Feature{Inbox: s.inbox, Bus: bus, Config: s, Holds: func(c *config.Condition, call *core.Call) bool {
		return policy.Holds(c, call, s.Current())
	}})
	return s
}

func (s *site) Current() *config.Config { return config.Default() }

func (s *site) AddArgumentRule(_ context.Context, before string, rule json.RawMessage) error {
	s.addedRule = before + " " + string(rule)
	return nil
}

func (s *site) SetTools(_ context.Context, id string, tools []string, set map[string]json.RawMessage) error {
	raw, err := json.Marshal(set)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, "tool "+id+" "+strings.Join(tools, ",")+" "+string(raw))
	return err
}

// nextPending waits for the next event about a pending approval.
func (s *site) nextPending() approvals.Approval {
	item := (<-s.changes.Events()).Data.(approvals.Item)
	return approvals.NewApproval(&item)
}

func TestCallApprovalShowsArgumentsAndCanBePermanent(t *testing.T) {
	s := newSite(t)
	args := `{"text":"` + strings.Repeat("x", (64<<10)) + `"}`
	got := make(chan approvals.Answer, 1)
	ask := func() {
		a, _ := s.inbox.Ask(t.Context(), approvals.Item{Kind: approvals.Call, Server: "files", Tool: "files__delete", Client: core.Client{Token: "cursor"},
			Held: &approvals.Held{CallID: 7, Tool: "delete", Arguments: args, Why: "w", Effect: approvals.EffectUnknown}})
		got <- a
	}
	for _, c := range []struct{ body, action, scope, did string }{
		{`{"action":"accept"}`, approvals.Accept, approvals.Once, ""},
		{`{"action":"accept","scope":"minutes"}`, approvals.Accept, approvals.Minutes, ""},
		{`{"action":"decline","scope":"always"}`, approvals.Decline, approvals.Always, ""},
		{`{"action":"accept","scope":"always"}`, approvals.Accept, approvals.Always, `tool files delete {"allowClients":["cursor"]}`},
	} {
		go ask()
		var list web.List[approvals.Approval]
		eventually.True(t, "one approval is pending", func() bool {
			s.Get(t, "/api/v1/approvals", &list)
			return len(list.Items) == 1
		})
		q := list.Items[0]
		if len(q.Arguments) != (64<<10) || !q.ArgumentsCut || q.ArgumentsSize != len(args) || q.Original != "delete" || q.CallID != "7" {
			t.Errorf("%d of %d bytes, %+v", len(q.Arguments), q.ArgumentsSize, q.Original)
		}
		var whole approvals.Approval
		s.Get(t, "/api/v1/approvals/"+q.ID, &whole)
		assert.True(t, whole.Arguments == args && !whole.ArgumentsCut, "the approval does not contain all arguments")
		s.Want(t, "POST", "/api/v1/approvals/"+q.ID, `{"action":"accept","scope":"ever"}`, 400)
		s.Want(t, "POST", "/api/v1/approvals/"+q.ID, c.body, 204)
		a := <-got
		assert.Truef(t, a.Action == c.action && a.Scope == c.scope, "%s: %+v", c.body, a)
		s.mu.Lock()
		did := strings.Join(s.did, "")
		s.did = nil
		s.mu.Unlock()
		assert.Equal(t, c.did, did, c.body)
	}
}

func TestApprovalIsListedAnnouncedAndAnswered(t *testing.T) {
	s := newSite(t)
	got := make(chan approvals.Answer, 1)
	go func() {
		a, _ := s.inbox.Ask(t.Context(), approvals.Item{Kind: approvals.Form, Server: "files", Message: "How many?", Client: core.Client{Name: "Cursor"},
			Schema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`})
		got <- a
	}()
	q := s.nextPending()
	assert.Truef(t, q.Message == "How many?" && q.State == "" && q.Client.Name == "Cursor" && !q.Expires.IsZero(), "told %+v", q)
	var list web.List[approvals.Approval]
	s.Get(t, "/api/v1/approvals", &list)
	require.Truef(t, len(list.Items) == 1 && list.Items[0].ID == q.ID && list.Items[0].Kind == approvals.Form, "listed %+v", list)
	path := "/api/v1/approvals/" + q.ID
	s.Want(t, "POST", path, `{"action":"accept","content":{}}`, 400, "content.n")
	s.Want(t, "POST", path, `{"action":"accept","content":{"n":9007199254740993}}`, 204)
	a := <-got
	assert.Truef(t, a.Action == approvals.Accept && string(a.Content) == `{"n":9007199254740993}`, "the server hears %+v", a)
	if q = s.nextPending(); q.State != approvals.Accept {
		t.Errorf("told %+v", q)
	}
	s.Want(t, "POST", path, `{"action":"decline"}`, 404)
}

// An answer can be limited to a session and to a condition that the call matches. For a question of
// a rule, always adds a rule before it.
func TestApprovalCanBeLimitedToArguments(t *testing.T) {
	s := newSite(t)
	home := filepath.ToSlash(filepath.VolumeName(t.TempDir())) + "/home"
	where := `{"/path":{"under":"` + home + `/me"}}`
	for _, c := range []struct {
		body, rule string
		session    bool
		status     int
		content    string
		added      string
	}{
		{`{"action":"accept","scope":"session"}`, "", false, 400, "", ""},
		{`{"action":"accept","scope":"session"}`, "", true, 204, "", ""},
		{`{"action":"accept","scope":"minutes","where":` + where + `}`, "", false, 204, where, ""},
		{`{"action":"accept","where":` + where + `}`, "", false, 400, "", ""},
		{`{"action":"accept","scope":"minutes","where":{"/path":{"under":"/etc"}}}`, "", false, 400, "", ""},
		{`{"action":"accept","scope":"minutes","where":{"path":{"under":"/home"}}}`, "", false, 400, "", ""},
		{`{"action":"accept","scope":"always","where":` + where + `}`, "", false, 204, where, ` {"tool":"files__put","clients":["cursor"],"where":` + where + `,"then":"allow"}`},
		{`{"action":"accept","scope":"always"}`, "policy.rules[3]", false, 204, "", `policy.rules[3] {"tool":"files__put","clients":["cursor"],"then":"allow"}`},
	} {
		got, ctx := make(chan approvals.Answer, 1), t.Context()
		s.addedRule = ""
		go func() {
			a, _ := s.inbox.Ask(ctx, approvals.Item{Kind: approvals.Call, Server: "files", Client: core.Client{Token: "cursor"},
				Held: &approvals.Held{Tool: "put", Arguments: `{"path":"` + home + `/me/a"}`, Rule: c.rule, Session: c.session}})
			got <- a
		}()
		var list web.List[approvals.Approval]
		eventually.True(t, "one approval is pending", func() bool {
			s.Get(t, "/api/v1/approvals", &list)
			return len(list.Items) == 1
		})
		status, body := s.Ask("POST", "/api/v1/approvals/"+list.Items[0].ID, c.body)
		if status != c.status || s.addedRule != c.added || list.Items[0].InSession != c.session {
			t.Errorf("%s: %d %s, added %s", c.body, status, body, s.addedRule)
		}
		if status != 204 {
			s.Ask("POST", "/api/v1/approvals/"+list.Items[0].ID, `{"action":"decline"}`)
		}
		a := <-got
		assert.Equal(t, c.content, string(a.Content), c.body)
	}
}
