package api

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// nextPending waits for the next event about a pending approval.
func nextPending(t *testing.T, events <-chan sse) (q Approval) {
	t.Helper()
	for {
		e := next(t, events)
		if e.kind != "approval" {
			continue
		}
		if err := json.Unmarshal([]byte(e.data), &q); err != nil {
			t.Fatal(err, e.data)
		}
		return q
	}
}

func TestCallApprovalShowsArgumentsAndCanBePermanent(t *testing.T) {
	s := newSite(t)
	args := `{"text":"` + strings.Repeat("x", maxShown) + `"}`
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
		var list web.List[Approval]
		eventually.True(t, "one approval is pending", func() bool {
			s.get(t, "/api/v1/approvals", &list)
			return len(list.Items) == 1
		})
		q := list.Items[0]
		if len(q.Arguments) != maxShown || !q.ArgumentsCut || q.ArgumentsSize != len(args) || q.Original != "delete" || q.CallID != "7" {
			t.Errorf("%d of %d bytes, %+v", len(q.Arguments), q.ArgumentsSize, q.Original)
		}
		var whole Approval
		s.get(t, "/api/v1/approvals/"+q.ID, &whole)
		if whole.Arguments != args || whole.ArgumentsCut {
			t.Error("the approval does not contain all arguments")
		}
		s.want(t, "POST", "/api/v1/approvals/"+q.ID, `{"action":"accept","scope":"ever"}`, 400)
		s.want(t, "POST", "/api/v1/approvals/"+q.ID, c.body, 204)
		if a := <-got; a.Action != c.action || a.Scope != c.scope {
			t.Errorf("%s: %+v", c.body, a)
		}
		s.mu.Lock()
		did := strings.Join(s.did, "")
		s.did = nil
		s.mu.Unlock()
		if did != c.did {
			t.Errorf("%s did %q", c.body, did)
		}
	}
}

func TestApprovalIsListedAnnouncedAndAnswered(t *testing.T) {
	s := newSite(t)
	events := s.listen(t, "/api/v1/events")
	next(t, events) // the snapshot
	got := make(chan approvals.Answer, 1)
	go func() {
		a, _ := s.inbox.Ask(t.Context(), approvals.Item{Kind: approvals.Form, Server: "files", Message: "How many?", Client: core.Client{Name: "Cursor"},
			Schema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`})
		got <- a
	}()
	q := nextPending(t, events)
	if q.Message != "How many?" || q.State != "" || q.Client.Name != "Cursor" || q.Expires.IsZero() {
		t.Errorf("told %+v", q)
	}
	var list web.List[Approval]
	s.get(t, "/api/v1/approvals", &list)
	if len(list.Items) != 1 || list.Items[0].ID != q.ID || list.Items[0].Kind != approvals.Form {
		t.Fatalf("listed %+v", list)
	}
	if snap := s.api.snapshot(t.Context()); len(snap.Approvals) != 1 {
		t.Errorf("the snapshot holds %+v", snap.Approvals)
	}
	path := "/api/v1/approvals/" + q.ID
	s.want(t, "POST", path, `{"action":"accept","content":{}}`, 400, "content.n")
	s.want(t, "POST", path, `{"action":"accept","content":{"n":9007199254740993}}`, 204)
	if a := <-got; a.Action != approvals.Accept || string(a.Content) != `{"n":9007199254740993}` {
		t.Errorf("the server hears %+v", a)
	}
	if q = nextPending(t, events); q.State != approvals.Accept {
		t.Errorf("told %+v", q)
	}
	s.want(t, "POST", path, `{"action":"decline"}`, 404)
}

func TestCommandWaitsForApproval(t *testing.T) {
	s := newSite(t)
	eventually.True(t, "somebody follows", s.bus.Active)
	events := s.listen(t, "/api/v1/events")
	next(t, events)
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	held := core.ServerStatus{ID: "files", State: core.StateNeedsApproval, Since: since}
	set := func(key string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.statuses = []core.ServerStatus{held}
		s.commands = []supervisor.PendingCommand{{Server: "files", Key: key, Command: "npx files /tmp", Previous: "npx files", Environment: []string{"A", "B"}, Cwd: "/srv", Sandbox: []string{"run without a sandbox"}}}
	}
	set("k1")
	s.bus.Publish(core.ServerEvent, held)
	q := nextPending(t, events)
	if q.ID != "command:files:k1" || q.Kind != "command" || q.Message != "npx files /tmp\nEnvironment: A, B\nFolder: /srv\nLooser sandbox than approved: the server could run without a sandbox" || !q.At.Equal(since) || !q.Expires.IsZero() ||
		q.Command == nil || q.Command.CommandLine != "npx files /tmp" || q.Command.Previous != "npx files" || q.Command.Cwd != "/srv" || len(q.Command.Environment) != 2 || len(q.Command.Sandbox) != 1 {
		t.Errorf("told %+v", q)
	}
	set("k2") // the command was changed while it was pending
	s.bus.Publish(core.ServerEvent, held)
	if came, gone := nextPending(t, events), nextPending(t, events); came.ID != "command:files:k2" || gone.ID != q.ID || gone.State != approvals.Withdrawn {
		t.Errorf("told %+v, %+v", came, gone)
	}
	post := func(id, action string) int {
		status, _, _ := s.ask(t, "POST", "/api/v1/approvals/"+url.PathEscape(id), `{"action":"`+action+`"}`)
		return status
	}
	if status := post("command:files:k1", "accept"); status != 409 {
		t.Errorf("a command that the user did not see: %d", status)
	}
	var list web.List[Approval]
	if status := post("command:files:k2", "decline"); status != 204 {
		t.Errorf("declined: %d", status)
	}
	if s.get(t, "/api/v1/approvals", &list); len(list.Items) != 1 {
		t.Errorf("a declined command waits no longer: %+v", list)
	}
	if status := post("command:files:k2", "accept"); status != 204 {
		t.Errorf("accepted: %d", status)
	}
	if q = nextPending(t, events); q.ID != "command:files:k2" || q.State != approvals.Accept {
		t.Errorf("told %+v", q)
	}
	if s.get(t, "/api/v1/approvals", &list); len(list.Items) != 0 {
		t.Errorf("listed %+v", list)
	}
}

func TestServersAreAddedAndRemovedAndDebugged(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	s.want(t, "POST", "/api/v1/servers", `{"name":"My Git","entry":{"command":"git"}}`, 200, `"id":"My-Git"`)
	s.want(t, "DELETE", "/api/v1/servers/files", "", 204)
	if got := strings.Join(s.did, ","); got != `expect My-Git,add My Git {"command":"git"},remove files` {
		t.Errorf("done: %s", got)
	}
	var d supervisor.Debug
	s.get(t, "/api/v1/servers/files/debug", &d)
	if d.Configured != "npx files" || len(d.Stderr) != 1 || strings.Contains(d.Stderr[0], "\x1b") || d.Status.ID != "files" || d.Frames == nil {
		t.Errorf("%+v", d)
	}
}

// An answer can be limited to a session and to a condition that the call matches. For a question of
// a rule, always adds a rule before it.
func TestApprovalCanBeLimitedToArguments(t *testing.T) {
	s := newSite(t)
	const where = `{"/path":{"under":"/home/me"}}`
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
		s.fakes.addedRule = ""
		go func() {
			a, _ := s.inbox.Ask(ctx, approvals.Item{Kind: approvals.Call, Server: "files", Client: core.Client{Token: "cursor"},
				Held: &approvals.Held{Tool: "put", Arguments: `{"path":"/home/me/a"}`, Rule: c.rule, Session: c.session}})
			got <- a
		}()
		var list web.List[Approval]
		eventually.True(t, "one approval is pending", func() bool {
			s.get(t, "/api/v1/approvals", &list)
			return len(list.Items) == 1
		})
		status, body, _ := s.ask(t, "POST", "/api/v1/approvals/"+list.Items[0].ID, c.body)
		if status != c.status || s.fakes.addedRule != c.added || list.Items[0].InSession != c.session {
			t.Errorf("%s: %d %s, added %s", c.body, status, body, s.fakes.addedRule)
		}
		if status != 204 {
			s.ask(t, "POST", "/api/v1/approvals/"+list.Items[0].ID, `{"action":"decline"}`)
		}
		if a := <-got; string(a.Content) != c.content {
			t.Errorf("%s: %+v", c.body, a)
		}
	}
}

func TestNewCommandNoticeStaysUntilAcknowledged(t *testing.T) {
	s := newSite(t)
	s.notices = []core.Notice{{Subject: "command:files", Message: "Server \"files\" is running a new command: npx files"}}
	var st Status
	if s.get(t, "/api/v1/status", &st); len(st.Notices) == 0 || st.Notices[0] != s.notices[0] {
		t.Fatalf("notices %+v", st.Notices)
	}
	path := "/api/v1/notices/" + url.PathEscape("command:files")
	s.want(t, "DELETE", path, "", 204)
	s.want(t, "DELETE", path, "", 404)
}
