package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeServers are servers without processes.
type fakeServers struct {
	mu       sync.Mutex
	statuses []core.ServerStatus
	commands []PendingCommand
	did      []string
}

func (f *fakeServers) note(what, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, what+" "+id)
	return nil
}

func (f *fakeServers) Statuses() []core.ServerStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.statuses)
}

func (f *fakeServers) Start(_ context.Context, id string) error   { return f.note("start", id) }
func (f *fakeServers) Stop(_ context.Context, id string) error    { return f.note("stop", id) }
func (f *fakeServers) Restart(_ context.Context, id string) error { return f.note("restart", id) }
func (f *fakeServers) Enable(_ context.Context, id string) error  { return f.note("enable", id) }
func (f *fakeServers) Disable(_ context.Context, id string) error { return f.note("disable", id) }
func (f *fakeServers) Remove(_ context.Context, id string) error  { return f.note("remove", id) }
func (f *fakeServers) SuppressCommandNotice(id string)            { _ = f.note("expect", id) }
func (f *fakeServers) Current() *config.Config                    { return config.Default() }

func (f *fakeServers) Add(_ context.Context, label string, entry json.RawMessage) error {
	return f.note("add", label+" "+string(entry))
}

func (f *fakeServers) SetTools(context.Context, string, []string, map[string]json.RawMessage) error {
	return nil
}

// stubDialer answers trials and usage by functions.
type stubDialer struct {
	upstream.Dialer
	try   func(context.Context, *config.Server, string, func(upstream.Connection)) upstream.Trial
	usage func(string) (process.Usage, error)
}

func (d *stubDialer) Try(ctx context.Context, c *config.Server, as string, use func(upstream.Connection)) upstream.Trial {
	return d.try(ctx, c, as, use)
}

func (d *stubDialer) Usage(id string) (process.Usage, error) { return d.usage(id) }

// site is the feature with fake servers.
type site struct {
	*webtest.Site
	*fakeServers
	feature *Feature
	dialer  *stubDialer
	logs    *serverlog.Logs
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{fakeServers: &fakeServers{}, dialer: &stubDialer{usage: func(string) (process.Usage, error) { return process.Usage{}, errors.New("no process") }}, logs: serverlog.Open("", nil)}
	t.Cleanup(func() { _ = s.logs.Close() })
	s.feature = &Feature{
		Servers: s, Config: s, Views: registry.New(registry.Options{}), Logs: s.logs, Dialer: s.dialer, Reset: func(string) {}, Redact: func(text string) string { return text },
		Debug: func(id string) (Debug, error) {
			st, _ := s.Status(id)
			return Debug{Status: st, Configured: "npx files", Stderr: []string{"\x1b[31mred"}}, nil
		},
	}
	s.Site = webtest.New(s.feature)
	return s
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
	came, gone := nextPending(), nextPending()
	assert.Truef(t, came.ID == "command:files:k2" && gone.ID == q.ID && gone.State == approvals.Withdrawn, "told %+v, %+v", came, gone)
	post := func(id, action string) int {
		status, _ := s.Ask("POST", "/api/v1/approvals/"+url.PathEscape(id), `{"action":"`+action+`"}`)
		return status
	}
	assert.Equal(t, 409, post("command:files:k1", "accept"), "a command that the user did not see")
	var list web.List[approvals.Approval]
	assert.Equal(t, 204, post("command:files:k2", "decline"))
	if s.Get(t, "/api/v1/approvals", &list); len(list.Items) != 1 {
		t.Errorf("a declined command waits no longer: %+v", list)
	}
	assert.Equal(t, 204, post("command:files:k2", "accept"))
	if q = nextPending(); q.ID != "command:files:k2" || q.State != approvals.Accept {
		t.Errorf("told %+v", q)
	}
	if s.Get(t, "/api/v1/approvals", &list); len(list.Items) != 0 {
		t.Errorf("listed %+v", list)
	}
}

func (s *site) try(t *testing.T, body string) TestResult {
	t.Helper()
	status, text := s.Ask("POST", "/api/v1/test", body)
	var got TestResult
	err := json.Unmarshal([]byte(text), &got)
	require.Truef(t, status == 200 && err == nil, "%d %s %v", status, text, err)
	return got
}

func TestServerIsTriedBeforeSaving(t *testing.T) {
	s := newSite(t)
	var tried *config.Server
	s.dialer.try = func(_ context.Context, c *config.Server, _ string, _ func(upstream.Connection)) upstream.Trial {
		tried = c
		if c.Command == "bad" {
			return upstream.Trial{Err: core.Errorf(core.CodeUnavailable, "x"), Reason: "exited with status 3", Hint: "Look.", Remedy: core.EditConfig("command"), Reached: true,
				Catalog: &core.Catalog{}, Log: []serverlog.Line{{Text: "\x1b[31mwhy"}}}
		}
		return upstream.Trial{Took: time.Second, Command: "npx files", Era: core.Legacy, Version: "2025-11-25", Catalog: &core.Catalog{
			Tools:    []core.Item{{Name: "read", Raw: []byte(`{"name":"read","description":"Reads.","inputSchema":{"type":"object","x":9007199254740993}}`)}},
			Prompts:  []core.Item{{Name: "p", Raw: []byte(`{"name":"p","title":"P"}`)}},
			Info:     []byte(`{"name":"files"}`),
			Warnings: []string{"1 of 2 tools"},
		}}
	}
	got := s.try(t, `{"name":"My files","entry":{"command":"npx","args":["files"],"disabled":true,"colour":"red"}}`)
	if !got.OK || got.Stage != "done" || len(got.Tools) != 1 || got.Tools[0].InputSchema != `{"type":"object","x":9007199254740993}` || got.Prompts[0].Title != "P" ||
		string(got.ServerInfo) != `{"name":"files"}` || len(got.Warnings) != 1 || len(got.Problems) != 1 || !strings.Contains(got.Problems[0].Message, "colour") {
		t.Errorf("%+v", got)
	}
	assert.Truef(t, tried.ID == "My-files" && !tried.Disabled && tried.Type == core.Stdio && tried.StartupTimeout == config.DefaultStartupTimeout, "%+v", tried)
	got = s.try(t, `{"name":"x","entry":{"command":"bad"}}`)
	if got.OK || got.Stage != "connect" || got.Error != "exited with status 3" || got.Hint != "Look." || got.Remedy.Name != "command" || got.Code != core.CodeUnavailable || fmt.Sprint(got.Log) != "[why]" {
		t.Errorf("%+v", got)
	}
	tried = nil
	got = s.try(t, `{"name":"x","entry":{"type":"docker","command":"y"}}`)
	assert.Truef(t, !got.OK && got.Stage == "configuration" && strings.Contains(got.Error, "container") && tried == nil, "%+v", got)
	for body, want := range map[string]int{`{"entry":[1]}`: 400, `{"server":"nobody"}`: 404, `{}`: 400} {
		s.Want(t, "POST", "/api/v1/test", body, want)
	}
	assert.Truef(t, len(s.did) <= 0, "a try did %v", s.did)
}

func TestTrialsEndWithRequestAndAreBounded(t *testing.T) {
	const maxTrials = 4
	s := newSite(t)
	began, ended := make(chan struct{}, maxTrials), make(chan error, maxTrials)
	s.dialer.try = func(ctx context.Context, _ *config.Server, _ string, _ func(upstream.Connection)) upstream.Trial {
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return upstream.Trial{Err: ctx.Err(), Catalog: &core.Catalog{}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{}, maxTrials)
	for range maxTrials {
		go func() {
			_, _ = s.feature.testServer(ctx, &testInput{TestRequest{Entry: web.JSON(`{"command":"x"}`)}})
			over <- struct{}{}
		}()
		<-began
	}
	s.Want(t, "POST", "/api/v1/test", `{"entry":{"command":"x"}}`, 429)
	cancel()
	for range maxTrials {
		err := <-ended
		assert.ErrorIs(t, err, context.Canceled)
		<-over
	}
}

func TestContainerPickerExplainsEmptyList(t *testing.T) {
	s := newSite(t)
	var got DockerView
	s.Get(t, "/api/v1/docker?host="+url.QueryEscape("unix://"+filepath.Join(t.TempDir(), "none.sock")), &got)
	if got.Engine.State != "absent" || got.Engine.Message == "" || got.Engine.Hint == "" || len(got.Contexts) == 0 || got.Containers == nil {
		t.Errorf("%+v", got)
	}
	s.Want(t, "GET", "/api/v1/docker/containers/x?host="+url.QueryEscape("unix:///nowhere"), "", 503)
}

func TestServersAreAddedAndRemovedAndDebugged(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	s.Want(t, "POST", "/api/v1/servers", `{"name":"My Git","entry":{"command":"git"}}`, 200, `"id":"My-Git"`)
	s.Want(t, "DELETE", "/api/v1/servers/files", "", 204)
	assert.Equal(t, `expect My-Git,add My Git {"command":"git"},remove files`, strings.Join(s.did, ","))
	var d Debug
	s.Get(t, "/api/v1/servers/files/debug", &d)
	if d.Configured != "npx files" || len(d.Stderr) != 1 || strings.Contains(d.Stderr[0], "\x1b") || d.Status.ID != "files" || d.Frames == nil {
		t.Errorf("%+v", d)
	}
}

// One after the other, each server makes a list of all processes.
func TestUsageOfAllServersIsMeasuredAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waiting atomic.Int64
		release := make(chan struct{})
		a := &Feature{Dialer: &stubDialer{usage: func(string) (process.Usage, error) {
			if waiting.Add(1) == 200 {
				close(release)
			}
			<-release
			return process.Usage{RSS: 1}, nil
		}}}
		servers := make([]core.ServerStatus, 200)
		for i := range servers {
			servers[i] = core.ServerStatus{ID: strconv.Itoa(i), PID: i + 1}
		}
		list := a.UsageOf(servers)
		require.Len(t, list, 200)
		for i, u := range list {
			require.Equal(t, servers[i].ID, u.Server)
		}
	})
}

func TestServerLogIsFilteredByLevelAndTime(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files"}}
	logs := s.logs
	logs.Append("files", serverlog.Info, "started")
	w := logs.Writer("files")
	_, err := w.Write([]byte("\x1b[31mhello\n"))
	require.NoError(t, err)
	logs.Append("files", serverlog.Error, "failed")
	texts := func(query string) (list []string, last time.Time) {
		t.Helper()
		var l web.List[serverlog.Line]
		s.Get(t, "/api/v1/servers/files/log"+query, &l)
		for _, line := range l.Items {
			list, last = append(list, line.Text), line.At
		}
		return list, last
	}
	equal := func(query string, want ...string) time.Time {
		t.Helper()
		got, last := texts(query)
		require.Len(t, got, len(want), query)
		for i := range want {
			assert.Equal(t, want[i], got[i], query)
		}
		return last
	}
	last := equal("", "started", "hello", "failed")
	equal("?level=stderr", "hello")
	equal("?level=lifecycle", "started", "failed")
	equal("?level=warn", "failed")
	equal("?limit=1&level=lifecycle", "failed")
	equal("?after=" + url.QueryEscape(last.Format(time.RFC3339Nano)))
	for path, want := range map[string]int{"/api/v1/servers/nobody/log": 404, "/api/v1/servers/files/log?level=loud": 400, "/api/v1/servers/files/log?limit=0": 400} {
		s.Want(t, "GET", path, "", want)
	}
}

func TestServersAreStartedStoppedAndRestarted(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	for _, action := range []string{"start", "stop", "restart", "enable", "disable", "connect", "disconnect", "reconnect"} {
		s.Want(t, "POST", "/api/v1/servers/files/"+action, "", 200, `"id":"files"`)
	}
	assert.Equal(t, "start files,stop files,restart files,enable files,disable files,start files,stop files,restart files", strings.Join(s.did, ","))
}

func TestToolsKeepTheirJSON(t *testing.T) {
	s := newSite(t)
	raw := `{"name":"add","title":"Add","description":"<b>","inputSchema":{"type":"object","maximum":9007199254740993},"odd":1}`
	s.feature.Views.Configure("", []registry.Server{{ID: "calc", Label: "calc"}})
	s.feature.Views.Set("calc", "calc", &core.Catalog{Tools: []core.Item{{Name: "add", Raw: []byte(raw)}}})
	var list web.List[Tool]
	s.Get(t, "/api/v1/tools", &list)
	require.Len(t, list.Items, 1)
	got := list.Items[0]
	if got.Name != "calc__add" || got.Tool != "add" || got.InputSchema != `{"type":"object","maximum":9007199254740993}` ||
		got.OutputSchema != "" || got.Description != "<b>" || !strings.Contains(got.Raw, `"odd":1`) {
		t.Errorf("got %+v", got)
	}
	s.Want(t, "GET", "/api/v1/tools?server=nobody", "", 404)
	s.statuses = []core.ServerStatus{{ID: "other"}}
	s.Get(t, "/api/v1/tools?server=other", &list)
	assert.Empty(t, list.Items, "another server lists")
}

func TestDebugMasksSecretsInCommand(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	const key = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
	s.feature.Debug = func(id string) (Debug, error) {
		st, _ := s.Status(id)
		return Debug{Status: st, Configured: "npx files --api-key " + key, Frames: []upstream.Frame{{Text: `{"api_key":"` + key + `"}`}}}, nil
	}
	s.feature.Redact = (&redact.Redactor{}).Text
	status, body := s.Ask("GET", "/api/v1/servers/files/debug", "")
	assert.Truef(t, status == 200 && !strings.Contains(body, key) && strings.Contains(body, "npx files --api-key "), "%d %s", status, body)
}
