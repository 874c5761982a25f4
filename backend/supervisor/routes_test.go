package supervisor

import (
	"context"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
)

// fakeServers are servers without processes.
type fakeServers struct {
	mu       sync.Mutex
	statuses []core.ServerStatus
	commands []PendingCommand
}

func (f *fakeServers) Status(id string) (core.ServerStatus, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.statuses, func(s core.ServerStatus) bool { return s.ID == id })
	if i < 0 {
		return core.ServerStatus{}, false
	}
	return f.statuses[i], true
}

func (f *fakeServers) PendingCommands() []PendingCommand {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.commands)
}

func (f *fakeServers) Approve(_ context.Context, server, key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range f.commands {
		if c.Server == server && c.Key == key {
			f.commands = slices.Delete(f.commands, i, i+1)
			return nil
		}
	}
	return core.Errorf(core.CodeConflict, "the command has changed since")
}

func TestCommandWaitsForApproval(t *testing.T) {
	bus, fakes := &core.Bus{}, &fakeServers{}
	feature := &approvals.Feature{Inbox: approvals.New(approvals.Options{Bus: bus}), Bus: bus, Sources: []approvals.Source{&Feature{Servers: fakes}}}
	s, changes := webtest.New(feature), bus.Subscribe(64, core.ApprovalEvent)
	defer changes.Close()
	nextPending := func() approvals.Approval {
		item := (<-changes.Events()).Data.(approvals.Item)
		return approvals.NewApproval(&item)
	}
	ctx, stop := context.WithCancel(t.Context())
	var follows sync.WaitGroup
	follows.Go(func() { _ = feature.Run(ctx) })
	defer follows.Wait()
	defer stop()
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	held := core.ServerStatus{ID: "files", State: core.StateNeedsApproval, Since: since}
	set := func(key string) {
		fakes.mu.Lock()
		defer fakes.mu.Unlock()
		fakes.statuses = []core.ServerStatus{held}
		fakes.commands = []PendingCommand{{Server: "files", Key: key, Command: "npx files /tmp", Previous: "npx files", Environment: []string{"A", "B"}, Cwd: "/srv", Sandbox: []string{"run without a sandbox"}}}
	}
	set("k1")
	bus.Publish(core.ServerEvent, held)
	q := nextPending()
	if q.ID != "command:files:k1" || q.Kind != "command" || q.Message != "npx files /tmp\nEnvironment: A, B\nFolder: /srv\nLooser sandbox than approved: the server could run without a sandbox" || !q.At.Equal(since) || !q.Expires.IsZero() ||
		q.Command == nil || q.Command.CommandLine != "npx files /tmp" || q.Command.Previous != "npx files" || q.Command.Cwd != "/srv" || len(q.Command.Environment) != 2 || len(q.Command.Sandbox) != 1 {
		t.Errorf("told %+v", q)
	}
	set("k2") // the command was changed while it was pending
	bus.Publish(core.ServerEvent, held)
	if came, gone := nextPending(), nextPending(); came.ID != "command:files:k2" || gone.ID != q.ID || gone.State != approvals.Withdrawn {
		t.Errorf("told %+v, %+v", came, gone)
	}
	post := func(id, action string) int {
		status, _ := s.Ask("POST", "/api/v1/approvals/"+url.PathEscape(id), `{"action":"`+action+`"}`)
		return status
	}
	if status := post("command:files:k1", "accept"); status != 409 {
		t.Errorf("a command that the user did not see: %d", status)
	}
	var list web.List[approvals.Approval]
	if status := post("command:files:k2", "decline"); status != 204 {
		t.Errorf("declined: %d", status)
	}
	if s.Get(t, "/api/v1/approvals", &list); len(list.Items) != 1 {
		t.Errorf("a declined command waits no longer: %+v", list)
	}
	if status := post("command:files:k2", "accept"); status != 204 {
		t.Errorf("accepted: %d", status)
	}
	if q = nextPending(); q.ID != "command:files:k2" || q.State != approvals.Accept {
		t.Errorf("told %+v", q)
	}
	if s.Get(t, "/api/v1/approvals", &list); len(list.Items) != 0 {
		t.Errorf("listed %+v", list)
	}
}
