package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/app/features"
	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write golden files again")

// checkLeaks fails the test if goroutines are left at the end.
type checkLeaks struct{ *testing.M }

func (l checkLeaks) Run() int {
	code := l.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// In the scripts, the test binary is drawbridge itself.
func TestMain(m *testing.M) {
	testscript.Main(checkLeaks{m}, map[string]func(){
		"drawbridge": func() {
			serve := func(ctx context.Context, o ServeOptions) error {
				fmt.Printf("serve data=%s file=%s listen=%s tray=%v strict=%v debug=%v\n",
					filepath.Base(o.Folders.Data), filepath.Base(o.Sources.Main()), o.Listen, !o.NoTray, o.Strict, o.Debug)
				return nil
			}
			os.Exit(Main(context.Background(), os.Args[1:], Options{
				Env: terminal.Env{Version: "1.2.3"}, Features: features.Commands(), Commit: "0123abcd", CommitDate: "2026-01-02T03:04:05Z", Serve: serve,
				Desktop: func(context.Context, ServeOptions) error { fmt.Println("desktop"); return nil },
			}))
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("USERPROFILE", filepath.Join(e.WorkDir, "home")) // Windows
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
		},
	})
}

// fakeDaemon is a daemon for all commands.
type fakeDaemon struct{ *terminaltest.Daemon }

func newFakeDaemon(t *testing.T) *fakeDaemon {
	t.Helper()
	return &fakeDaemon{terminaltest.New(t)}
}

func (f *fakeDaemon) Run(onTerminal bool, args ...string) terminaltest.Result {
	return f.runIn(context.Background(), onTerminal, args...)
}

func (f *fakeDaemon) runIn(ctx context.Context, onTerminal bool, args ...string) terminaltest.Result {
	return runMain(ctx, f.Data, func(o *Options) { o.Terminal = func() bool { return onTerminal } }, args...)
}

func (f *fakeDaemon) Typed(text string, args ...string) terminaltest.Result {
	return runMain(context.Background(), f.Data, func(o *Options) { o.Stdin = strings.NewReader(text) }, args...)
}

// runMain runs a command of all with the data folder data.
func runMain(ctx context.Context, data string, change func(*Options), args ...string) terminaltest.Result {
	o := Options{Features: features.Commands()}
	return terminaltest.RunMain(ctx, data, func(e *terminal.Env) { o.Env = *e; change(&o); *e = o.Env }, func(ctx context.Context, e terminal.Env, args []string) int {
		o.Env = e
		return Main(ctx, args, o)
	}, args...)
}

// answering is a user who answers text at a terminal, or a script if attended is false.
func answering(text string, attended bool) func(*Options) {
	return func(o *Options) { terminaltest.Answering(text, attended)(&o.Env) }
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(string(want), got), name)
}

func TestStatusMatchesGoldenOutput(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	doc := api.Status{URL: "http://127.0.0.1:7575", Notices: []core.Notice{{Message: "recording paused: disk full"}}}
	states := []core.State{core.StateRunning, core.StateFailed, core.StateStarting, core.StateStopped, core.StateDegraded, core.StateWaiting,
		core.StateRestarting, core.StateNeedsSignIn, core.StateNeedsApproval, core.StateDisabled, core.StatePaused}
	for i, state := range states {
		s := core.ServerStatus{ID: string(state), Label: string(state), State: state, Tools: i * 7, Since: now.Add(-time.Duration(1<<(2*i)) * 2 * time.Second), Updated: now}
		doc.Servers = append(doc.Servers, s)
	}
	doc.Visible = map[string]int{string(core.StateStopped): 2}
	doc.Servers[1].Tools = 0 // not listed yet
	doc.Servers[0].Label = "日本 files"
	doc.Servers[0].Warnings = []string{"8 of 9 tools"}
	doc.Servers[1].Reason = "exit code 1\x1b[31m: no such file"
	doc.Servers[9].Since = time.Time{}
	doc.Problems = []config.Problem{
		{File: "c.jsonc", Line: 1, Column: 2, Message: "its reason is shown with the server", Server: "crashed"},
		{File: "c.jsonc", Line: 3, Column: 4, Message: "unknown key 'x'", Warning: true},
	}
	for name, tty := range map[string]bool{"status-terminal.txt": true, "status-plain.txt": false} {
		var out bytes.Buffer
		p := newProgram(Options{Env: terminal.Env{Stdout: &out, Terminal: func() bool { return tty }}})
		require.NoError(t, p.printStatus(&doc, nil, now))
		golden(t, name, out.String())
	}
}

func TestJSONOutputIsAPIDocument(t *testing.T) {
	f := newFakeDaemon(t)
	const doc = `{"items":[{"id":"a","big":9007199254740993}],"next":""}`
	f.Answer("GET /api/v1/status", doc)
	f.Answer("GET /api/v1/tools", doc)
	f.Answer("GET /api/v1/calls", doc)
	f.Answer("GET /api/v1/calls/7000", doc)
	f.Answer("POST /api/v1/servers/files/stop", doc)
	for _, args := range [][]string{{"status"}, {"tools"}, {"list-tools"}, {"history"}, {"history", "7000"}, {"stop", "files"}} {
		got := f.Run(true, append(args, "--json")...)
		assert.Truef(t, got.Out == doc+"\n" && got.Code == 0, "%v: %+v", args, got)
	}
}

func TestProblemsAreExplained(t *testing.T) {
	f := newFakeDaemon(t)
	const doc = `{"title":"Not Found","status":404,"code":"not_found","detail":"there is no server named \"x\"","hint":"List them."}`
	f.NotFound("POST /api/v1/servers/{id}/{action}", doc)
	if got := f.Run(true, "restart", "x"); got.Code != 1 || got.Err != "drawbridge: there is no server named \"x\"\nList them.\n" {
		t.Errorf("%+v", got)
	}
	got := f.Run(true, "restart", "x", "--json")
	var p web.ErrorDocument
	if err := json.Unmarshal([]byte(got.Err), &p); err != nil || p.Code != core.CodeNotFound || p.Hint != "List them." || p.Status != 404 || p.Title != "Not Found" || got.Out != "" {
		t.Errorf("%+v", got)
	}
}

// Several statuses have the code validation, so the code alone does not determine the status.
func TestProblemKeepsTheStatusOfTheAPI(t *testing.T) {
	f := newFakeDaemon(t)
	f.Mux.HandleFunc("POST /api/v1/call", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		io.WriteString(w, `{"title":"Request Entity Too Large","status":413,"code":"validation","detail":"the request is larger than 4 MiB"}`)
	})
	arguments := `{"x":"` + strings.Repeat("a", policy.MaxArguments-10) + `"}`
	for args, detail := range map[string]string{arguments: "the request is larger than 4 MiB", arguments + "   ": "the arguments are larger than 4 MiB"} {
		got := f.Typed(args, "call", "demo", "echo", "-", "--json")
		var p web.ErrorDocument
		if err := json.Unmarshal([]byte(got.Err), &p); err != nil || got.Code != 1 || p.Status != 413 || p.Code != core.CodeValidation || p.Title != "Request Entity Too Large" || p.Detail != detail {
			t.Errorf("%+v", got)
		}
	}
}

func TestServerTextIsEscapedOnTerminal(t *testing.T) {
	f := newFakeDaemon(t)
	f.Answer("POST /api/v1/call", `{"success":true,"output":"\u001b]52;c;ZXZpbA==\u0007 ok\u202e","data":{"k":"\u009b31m"}}`)
	f.Answer("GET /api/v1/servers/demo/log", `{"items":[{"at":"2026-01-02T03:04:05Z","level":"error","text":"\u001b[2Jgone"}]}`)
	f.Answer("GET /api/v1/tools", `{"items":[{"server":"demo","tool":"\u001b[1m","description":"a\nb"}]}`)
	for _, args := range [][]string{{"call", "demo", "x"}, {"logs", "demo"}, {"tools"}} {
		got := f.Run(true, args...)
		assert.Truef(t, got.Code == 0 && !strings.ContainsAny(got.Out, "\x1b\x07\u009b\u202e"), "%v: %+v", args, got)
	}
}

func TestTokensWorkWithoutDaemon(t *testing.T) {
	f := &fakeDaemon{&terminaltest.Daemon{Data: t.TempDir()}}
	first := f.Run(false, "token", "cursor")
	require.Truef(t, first.Code == 0 && len(strings.TrimSpace(first.Out)) >= 20, "%+v", first)
	assert.Equal(t, first.Out, f.Run(false, "token", "cursor").Out, "a token that exists changes")
	rotated := f.Run(false, "token", "cursor", "--rotate")
	assert.NotEqual(t, first.Out, rotated.Out)
	assert.Equal(t, 0, rotated.Code)
	assert.Equal(t, 0, f.Run(false, "token", "cursor", "--revoke").Code)
	tokens, _ := loopback.NewTokens(f.Data, nil)
	_, ok := tokens.Client(strings.TrimSpace(rotated.Out))
	assert.False(t, ok, "a revoked token works")
}
