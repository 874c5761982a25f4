package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/desktop"
	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/guests"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/backend/launch"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/marketplace"
	"github.com/drawbridge-mcp/drawbridge/backend/oauth"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/profiles"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakes are the dependencies of the API that would need processes or files.
type fakes struct {
	mu        sync.Mutex
	statuses  []core.ServerStatus
	did       []string
	commands  []supervisor.PendingCommand
	notices   []core.Notice
	problems  []config.Problem
	addedRule string
	text      string
	sessions  []bridge.Session
	running   *core.Call
	peers     []bridge.ClientInfo
	presences []bridge.ClientActivity
	bothEras  string
	call      func(context.Context, *core.Call) (core.Reply, error)
	recorder  *store.Recorder
	usage     func(id string) (process.Usage, error)
	current   *config.Config // config.Default() if nil
}

func (f *fakes) Statuses() []core.ServerStatus {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]core.ServerStatus(nil), f.statuses...)
}

func (f *fakes) Status(id string) (core.ServerStatus, bool) {
	for _, s := range f.Statuses() {
		if s.ID == id {
			return s, true
		}
	}
	return core.ServerStatus{}, false
}

func (f *fakes) note(what, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.did = append(f.did, what+" "+id)
	return nil
}

func (f *fakes) Start(_ context.Context, id string) error   { return f.note("start", id) }
func (f *fakes) Stop(_ context.Context, id string) error    { return f.note("stop", id) }
func (f *fakes) Restart(_ context.Context, id string) error { return f.note("restart", id) }
func (f *fakes) StartAccount(_ context.Context, id, account string) error {
	return f.note("start", id+"@"+account)
}
func (f *fakes) Enable(_ context.Context, id string) error  { return f.note("enable", id) }
func (f *fakes) Disable(_ context.Context, id string) error { return f.note("disable", id) }

func (f *fakes) Remove(_ context.Context, id string) error   { return f.note("remove", id) }
func (f *fakes) CheckRename(_, label string) (string, error) { return core.Slug(label), nil }
func (f *fakes) Rename(_ context.Context, id, label string) (string, []string, error) {
	if label == "Full Disk" {
		return "", nil, core.Errorf(core.CodeUnavailable, "cannot write the file")
	}
	return core.Slug(label), nil, f.note("rename", id+" "+label)
}

func (f *fakes) Add(_ context.Context, label string, entry json.RawMessage) error {
	return f.note("add", label+" "+string(entry))
}

func (f *fakes) SetArgument(_ context.Context, id string, _ int, _, now string) error {
	f.did = append(f.did, "argument "+id+" "+now)
	return nil
}

func (f *fakes) AddArgumentRule(_ context.Context, before string, rule json.RawMessage) error {
	f.addedRule = before + " " + string(rule)
	return nil
}

func (f *fakes) SetTools(_ context.Context, id string, tools []string, set map[string]json.RawMessage) error {
	raw, _ := json.Marshal(set)
	return f.note("tool", id+" "+strings.Join(tools, ",")+" "+string(raw))
}

func (f *fakes) PendingCommands() []supervisor.PendingCommand {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.commands)
}

func (f *fakes) Approve(_ context.Context, server, key string) error {
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

func (f *fakes) Notices() []core.Notice {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.notices)
}

func (f *fakes) Dismiss(subject string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.notices)
	f.notices = slices.DeleteFunc(f.notices, func(n core.Notice) bool { return n.Subject == subject })
	return len(f.notices) < n
}

func (f *fakes) ExpectCommand(s *config.Server)  { _ = f.note("expect command", s.ID+" "+s.Command) }
func (f *fakes) SuppressCommandNotice(id string) { _ = f.note("expect", id) }

func (f *fakes) Current() *config.Config {
	if f.current != nil {
		return f.current
	}
	return config.Default()
}
func (f *fakes) Problems() []config.Problem { return f.problems }
func (f *fakes) Text() (string, []byte, string, error) {
	return "/home/me/config.jsonc", []byte(f.text), "tag-" + f.text[:1], nil
}

func (f *fakes) Replace(_ context.Context, text []byte, etag string) error {
	if etag != "tag-"+f.text[:1] {
		return core.Errorf(core.CodeConflict, "the configuration file has changed in the meantime")
	}
	f.text = string(text)
	return nil
}

func (f *fakes) Patch(ctx context.Context, edits []config.Edit, etag string) error {
	return f.Replace(ctx, []byte(edits[0].Text), etag)
}

func (f *fakes) Sync(context.Context, string) error { return nil }

func (f *fakes) TryPatch(edits []config.Edit, etag string) ([]byte, []config.Problem, error) {
	if etag != config.AnyETag && etag != "tag-"+f.text[:1] {
		return nil, nil, core.Errorf(core.CodeConflict, "the configuration file has changed in the meantime")
	}
	return []byte(edits[0].Text), []config.Problem{{Message: "tried"}}, nil
}

func (f *fakes) Sessions() []bridge.Session       { return f.sessions }
func (f *fakes) HasBothEras(id string) bool       { return id == f.bothEras }
func (f *fakes) ClientInfos() []bridge.ClientInfo { return f.peers }

func (f *fakes) ClientActivities() []bridge.ClientActivity { return f.presences }

func (f *fakes) Call(ctx context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	c.ID, c.At = time.Now().UnixMicro(), time.Now().UTC()
	r, err := f.call(ctx, c)
	c.Outcome = cmp.Or(c.Outcome, core.OutcomeOK)
	if err != nil {
		c.Outcome = core.OutcomeProtocolError
	}
	f.recorder.Record(c, r)
	return r, err
}

func (f *fakes) Running() []core.Call {
	if f.running == nil {
		return nil
	}
	return []core.Call{*f.running}
}

func (f *fakes) RunningCall(id int64) (core.Call, bool) {
	if f.running == nil || f.running.ID != id {
		return core.Call{}, false
	}
	return *f.running, true
}

// Usage is that of servers without a process, unless usage is set.
func (f *fakes) Usage(id string) (process.Usage, error) {
	if f.usage == nil {
		return process.Usage{}, errors.New("no process")
	}
	return f.usage(id)
}

func (f *fakes) BeginTrial() (func(), error) { return func() {}, nil }

func (f *fakes) Try(context.Context, *config.Server, string, func(upstream.Connection)) upstream.Trial {
	return upstream.Trial{}
}

// inactive is the metrics and sign-ins of a site that has none.
type inactive struct{}

func (inactive) Handler() http.Handler { return nil }
func (inactive) Public() bool          { return false }

func (inactive) Begin(context.Context, string) (oauth.Pending, error) { return oauth.Pending{}, nil }
func (inactive) Cancel(string) error                                  { return nil }
func (inactive) Status(context.Context, string) oauth.Status          { return oauth.Status{} }
func (inactive) Logout(context.Context, string) error                 { return nil }
func (inactive) Open(string) error                                    { return nil }
func (inactive) ForgetAll(context.Context) error                      { return nil }
func (inactive) Rename(context.Context, string, string) error         { return nil }

// site is an API that listens on a real port, behind the real guard.
type site struct {
	*fakes
	api   *API
	url   string
	admin string
	store *store.Store
	bus   *core.Bus
	views *registry.Registry
	inbox *approvals.Inbox
	home  string // of the clients
}

func newSite(t *testing.T) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{home: dir, bus: &core.Bus{}, fakes: &fakes{text: "{}"}, views: registry.New(registry.Options{})}
	var err error
	if s.store, err = store.Open(t.Context(), store.Options{Path: filepath.Join(dir, "history.db")}); err != nil {
		t.Fatal(err)
	}
	s.recorder = s.store.Recorder()
	admin, err := loopback.OpenAdminToken(dir)
	require.NoError(t, err)
	if s.admin, err = loopback.ReadAdminToken(dir); err != nil {
		t.Fatal(err)
	}
	tokens, err := loopback.NewTokens(dir, nil)
	require.NoError(t, err)
	ln, err := loopback.Listen("127.0.0.1:0")
	require.NoError(t, err)
	port := uint16(ln.Addr().(*net.TCPAddr).Port)
	s.url = "http://" + ln.Addr().String()
	logs := serverlog.Open("", nil)
	s.inbox = approvals.New(approvals.Options{Bus: s.bus})
	vault := secret.For(t.TempDir(), func(string) string { return "off" })
	connector, err := clientconf.New(clientconf.Options{
		System: clientconf.System{GOOS: "linux", Home: dir, Getenv: func(string) string { return "" }},
		Dir:    filepath.Join(dir, "clients"), Program: "/opt/drawbridge", Config: filepath.Join(dir, "config.jsonc"), Vault: vault,
	})
	require.NoError(t, err)
	baseline, observer := trust.New(trust.Options{Store: s.store}), sandbox.New(sandbox.Options{Store: s.store, Bus: s.bus, Log: slog.New(slog.DiscardHandler)})
	clients := &clientconf.Feature{URL: s.url, Connector: connector, Tokens: tokens, Config: s.fakes.Current, Servers: s.fakes, Views: s.views, Bridge: s.fakes}
	clients.Limits = func(string) bridge.ClientLimits { return bridge.ClientLimits{} }
	clients.ListCost = func(string, []string, string) (*bridge.ListCost, string, string) {
		return &bridge.ListCost{}, config.ToolsAll, ""
	}
	changes, servers := &trust.Feature{Baseline: baseline, Views: s.views, Destinations: observer.Destinations}, &supervisor.Feature{Servers: s.fakes, Config: s.fakes, Views: s.views, Logs: logs, Dialer: s.fakes, Reset: func(string) {}}
	pending := &approvals.Feature{Inbox: s.inbox, Bus: s.bus, Config: s.fakes, Sources: []approvals.Source{servers, changes},
		Holds: func(c *config.Condition, call *core.Call) bool { return policy.Holds(c, call, s.fakes.Current()) }}
	rules := policy.New(policy.Options{Views: s.views})
	recorded := &history.Feature{Version: "1.2.3", Store: s.store, Gateway: s.fakes, Views: s.views, Config: s.fakes.Current, Tokens: tokens, Sessions: s.fakes.Sessions}
	sessions := loopback.OpenBrowserSessions(loopback.SessionOptions{DataDir: dir, Port: port})
	windows := &desktop.Feature{URL: s.url, Sessions: sessions}
	s.api = New(Options{
		Version: "1.2.3", URL: s.url, StartedAt: time.Now().UTC(), ConfigPath: "/home/me/config.jsonc",
		Servers: s.fakes, Views: s.views, History: recorded,
		ConfigEditor: s.fakes, Renamer: s.fakes, Tokens: tokens, Admin: admin, Bus: s.bus,
		Approvals: pending, Commands: s.fakes,
		Rules: rules, Trust: baseline,
		Features:     []web.Feature{&doctor.Feature{}, &guests.Feature{}, &policy.Feature{Policy: rules}, clients, recorded, &marketplace.Feature{}, &launch.Feature{}, &oauth.Feature{Logins: inactive{}, Config: s.fakes.Current, Servers: s.fakes}, &profiles.Feature{}, &secret.Feature{Store: vault, Config: s.fakes.Current, Servers: s.fakes}, &sandbox.Feature{Servers: s.fakes, Sampler: observer}, changes, servers, pending, windows},
		FollowWindow: windows.FollowWindow, Clients: clients, Logins: inactive{}, Metrics: inactive{}, Copies: config.BackupsOf(dir),
		Observer: observer,
		Notices:  func() []core.Notice { return nil }, KnowsReleases: func() bool { return false },
		Usage:    servers.UsageOf,
		Sessions: sessions,
		UI:       fstest.MapFS{"index.html": {Data: []byte("<p>page" + nonceMark)}, "assets/a-1.js": {Data: []byte("1")}, "secret.key": {Data: []byte("x")}},
	})
	srv := loopback.NewServer(loopback.Guard(loopback.GuardOptions{Port: port, IsPageShell: IsShell})(s.api))
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { _ = srv.Serve(ln) })
	parts.Go(func() { _ = s.recorder.Run(ctx) })
	parts.Go(func() { _ = pending.Run(ctx) })
	t.Cleanup(func() {
		_ = srv.Close()
		cancel()
		parts.Wait()
		_ = s.store.Close()
		_ = logs.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

// ask sends a request with the admin token.
func (s *site) ask(t *testing.T, method, path, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	return s.plain(t, method, path, body, append(headers, "Authorization", "Bearer "+s.admin)...)
}

// want sends a request with the admin token and checks the status of the response, and that its body
// contains the given texts.
func (s *site) want(t *testing.T, method, path, body string, status int, texts ...string) {
	t.Helper()
	got, answer, _ := s.ask(t, method, path, body)
	ok := got == status
	for _, text := range texts {
		ok = ok && strings.Contains(answer, text)
	}
	assert.Truef(t, ok, "%s %s %.200s: got %d %s, want %d %q", method, path, body, got, answer, status, texts)
}

func (s *site) plain(t *testing.T, method, path, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	require.False(t, err != nil && !errors.Is(err, io.ErrUnexpectedEOF), err)
	return res.StatusCode, string(got), res.Header
}

func (s *site) get(t *testing.T, path string, into any) {
	t.Helper()
	status, body, _ := s.ask(t, "GET", path, "")
	require.Equalf(t, 200, status, "%v %v", path, body)
	require.NoErrorf(t, json.Unmarshal([]byte(body), into), "%v %v", path, body)
}

func golden(t *testing.T, name string, got []byte, update bool) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if update {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, path)
	require.Equal(t, string(got), string(want), path)
}
