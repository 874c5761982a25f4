//go:build unix

package supervisor

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// real is a Supervisor with real processes: this test's own binary acts as the servers.
type real struct {
	*Supervisor
	*gateway.Gateway
	t        *testing.T
	dialer   *upstream.Dialer
	registry *registry.Registry
	cfg      *config.Config
	recorded chan core.Call
}

func (g *real) Record(call *core.Call, _ core.Reply) { g.recorded <- *call }

func newReal(t *testing.T) *real {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	logs := serverlog.Open("", nil)
	spawner := process.NewSpawner(process.Options{Log: log})
	g := &real{t: t, registry: registry.New(registry.Options{}), cfg: config.Default(), recorded: make(chan core.Call, 100)}
	d := &upstream.Dialer{Spawner: spawner, Logs: logs, Log: log}
	g.dialer = d
	bus := &core.Bus{}
	g.Supervisor = New(Options{Log: log, Bus: bus, Registry: g.registry, Connect: d.Connect, LastLines: d.LastLines, Journal: d.Journal})
	g.Gateway = gateway.New(gateway.Options{Upstreams: g.Supervisor, Policy: policy.New(policy.Options{Views: g.registry}), Recorder: g, Bus: bus})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = g.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		assert.NoError(t, spawner.Close(context.Background()))
		assert.NoError(t, logs.Close())
	})
	return g
}

// mode returns a server that runs this test binary in one of mcptest's modes.
func mode(id, mode string, more ...func(*config.Server)) config.Server {
	return server(id, append([]func(*config.Server){func(s *config.Server) {
		s.Command, s.Args, s.Env = os.Args[0], []string{"-test.run=^$"}, map[string]string{mcptest.Env: mode}
		s.StartupTimeout = 30 * time.Second
	}}, more...)...)
}

func (g *real) apply(servers ...config.Server) {
	c := *g.cfg
	c.Servers = servers
	g.cfg = &c
	g.Apply(g.cfg)
}

// wait returns the status once the server is in state.
func (g *real) wait(id string, state core.State) core.ServerStatus {
	g.t.Helper()
	deadline := time.After(time.Minute)
	for {
		r := g.fleet.Load().byID[id]
		if r == nil {
			g.t.Fatalf("no server %q", id)
		}
		l := r.live.Load()
		if l.status.State == state {
			return r.current(l)
		}
		select {
		case <-l.changed:
		case <-deadline:
			g.t.Fatalf("server %s is %q (%s), want %q", id, l.status.State, l.status.Reason, state)
		}
	}
}

func (g *real) call(server, tool string, era core.Era) (*core.Call, core.Reply, error) {
	params := `{"name":"` + tool + `","arguments":{"n":9007199254740993}}`
	call := &core.Call{Server: server, Method: "tools/call", Name: tool, Era: era, Params: json.RawMessage(params)}
	if era == core.Modern {
		call.Params = json.RawMessage(params[:len(params)-1] + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reply, err := g.Call(ctx, call, nil)
	return call, reply, err
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func firstTool(g *real, id string) string {
	g.t.Helper()
	v, ok := g.registry.Server(id)
	if !ok || len(v.Items(core.Tools)) == 0 {
		g.t.Fatalf("server %s lists nothing", id)
	}
	return v.Items(core.Tools)[0].Name
}

func TestRealServersStartAnswerAndStop(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	g.apply(mode("one", "echo"), mode("two", "legacy"), mode("three", "modern-exit"))
	pids := map[string]int{}
	for _, id := range []string{"one", "two", "three"} {
		pids[id] = g.wait(id, core.StateRunning).PID
		for _, era := range []core.Era{core.Legacy, core.Modern} {
			call, reply, err := g.call(id, firstTool(g, id), era)
			if err != nil || len(reply.Result) == 0 || call.Outcome != core.OutcomeOK {
				t.Errorf("%s, %s: %s %s, %v", id, era, reply.Result, reply.Error, err)
			}
		}
	}
	st, _ := g.Status("three")
	assert.Equal(t, core.Modern, st.Era, "server three speaks")
	g.apply(mode("two", "legacy"), mode("three", "echo"))
	g.wait("three", core.StateRunning)
	assert.Equal(t, pids["two"], g.wait("two", core.StateRunning).PID, "a server was touched whose configuration did not change")
	deadline := time.After(time.Minute)
	for alive(pids["one"]) || alive(pids["three"]) {
		select {
		case <-deadline:
			t.Fatal("a removed or changed server still runs")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestModernCallUsesModernConnectionOfDualEraServer(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	g.apply(mode("dual", "echo"), mode("old", "legacy"))
	g.wait("dual", core.StateRunning)
	g.wait("old", core.StateRunning)
	before, err := g.dialer.Usage("dual")
	require.Truef(t, err == nil && len(before.Tree) != 0 && before.RSS != 0, "usage %+v, %v", before, err)
	legacy, _, err := g.call("dual", firstTool(g, "dual"), core.Legacy)
	require.NoError(t, err)
	modern, _, err := g.call("dual", firstTool(g, "dual"), core.Modern)
	require.NoError(t, err)
	require.NotEqual(t, modern.Instance, legacy.Instance, "both eras share one connection")
	again, _, _ := g.call("dual", firstTool(g, "dual"), core.Modern)
	require.Equal(t, modern.Instance, again.Instance, "a third connection")
	both, err := g.dialer.Usage("dual")
	assert.Truef(t, err == nil && len(both.Tree) == 2*len(before.Tree), "usage of both connections %+v, %v", both, err)
	require.NoError(t, g.Stop(context.Background(), "dual"))
	u, err := g.dialer.Usage("dual")
	assert.Equalf(t, core.CodeUnavailable, core.CodeOf(err), "usage of a stopped server %+v", u)
	a, _, err := g.call("old", firstTool(g, "old"), core.Legacy)
	require.NoError(t, err)
	b, _, err := g.call("old", firstTool(g, "old"), core.Modern)
	require.NoError(t, err, "a legacy server serves modern calls through")
	require.Equal(t, b.Instance, a.Instance, "a legacy server serves modern calls through")
}

func TestBadServerDoesNotAffectOthers(t *testing.T) {
	t.Setenv("DRAWBRIDGE_TEST_UNSET", "")
	os.Unsetenv("DRAWBRIDGE_TEST_UNSET")
	g := newReal(t)
	missing := filepath.Join(t.TempDir(), "no-such-program")
	g.cfg.Problems = []config.Problem{{File: "c.jsonc", Line: 3, Column: 5, Key: "mcpServers.wrong", Message: "missing 'command' in stdio server 'wrong'", Server: "wrong"}}
	g.apply(
		mode("good", "echo"),
		mode("exits", "exit", func(s *config.Server) { s.Restart.Backoff = time.Millisecond }),
		server("missing", func(s *config.Server) { s.Command = missing }),
		mode("folder", "echo", func(s *config.Server) { s.Cwd = missing }),
		mode("unset", "echo", func(s *config.Server) { s.Env["TOKEN"] = "${DRAWBRIDGE_TEST_UNSET}" }),
	)
	g.wait("good", core.StateRunning)
	st := g.wait("exits", core.StateFailed)
	assert.Truef(t, st.ExitCode != nil && *st.ExitCode == 3 && strings.HasPrefix(st.Reason, "exited with status 3; gave up after 5"), "exits: %+v", st)
	for id, want := range map[string]string{"missing": "executable not found", "folder": "cannot enter working directory", "unset": "variable ${DRAWBRIDGE_TEST_UNSET} is not set (env.TOKEN)"} {
		assert.Contains(t, g.wait(id, core.StateFailed).Reason, want, id)
	}
	st, ok := g.Status("wrong")
	assert.Truef(t, ok && st.State == core.StateFailed && st.Reason == "c.jsonc:3:5: missing 'command' in stdio server 'wrong'", "wrong: %+v", st)
	assert.Equal(t, 6, len(g.Statuses()))
	_, _, err := g.call("good", firstTool(g, "good"), core.Legacy)
	assert.NoError(t, err)
}
