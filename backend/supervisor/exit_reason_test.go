//go:build unix

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func exitingServer(id, text string, attempts int) config.Server {
	return server(id, func(s *config.Server) {
		s.Command, s.Args = "sh", []string{"-c", text}
		s.StartupTimeout, s.Restart.MaxAttempts, s.Restart.Backoff = 30*time.Second, attempts, time.Millisecond
	})
}

func TestFailureNamesReasonActionAndRemedy(t *testing.T) {
	g, bin := newReal(t), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\nexit 0\n"), 0o755))
	g.apply(
		server("noinput", func(s *config.Server) {
			s.Command, s.Args, s.Restart.MaxAttempts = filepath.Join(bin, "docker"), []string{"run", "--rm", "img"}, 1
		}),
		server("http", func(s *config.Server) {
			s.Command, s.Args = "sh", []string{"-c", `echo "Listening on http://0.0.0.0:3000/mcp"; exec sleep 60`}
			s.StartupTimeout, s.Restart.MaxAttempts = 700*time.Millisecond, 1
		}),
		exitingServer("key", `echo "Error: WEATHER_API_KEY is required" >&2; echo "    at main (x.js:1:1)" >&2; echo "Node.js v20.20.2" >&2; exit 1`, 1),
		exitingServer("usage", `echo "docker: Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?" >&2; echo "Run 'docker run --help' for more information" >&2; exit 125`, 1),
		exitingServer("signal", `kill -SEGV $$`, 1),
		exitingServer("silent", `exit 0`, 1),
		exitingServer("port", `echo "Error: listen EADDRINUSE: address already in use :::3000" >&2; exit 1`, 1),
		server("uvx", func(s *config.Server) {
			s.Command, s.Env = "uvx", map[string]string{"PATH": t.TempDir()}
		}),
		server("unknown", func(s *config.Server) { s.Command = "acme-mcp-nosuch" }),
		server("variable", func(s *config.Server) {
			s.Command, s.Env = "sh", map[string]string{"KEY": "${ACME_NOSUCH_TOKEN}"}
		}),
	)
	for id, want := range map[string]struct {
		reason, hint string
		kind         core.RemedyKind
		name         string
	}{
		"key":      {"exited with status 1: Error: WEATHER_API_KEY is required", "drawbridge secret set WEATHER_API_KEY", core.RemedySetVariable, "WEATHER_API_KEY"},
		"usage":    {"exited with status 125: docker: Cannot connect to the Docker daemon at unix:///x.", "Start Docker", core.RemedyStartDocker, ""},
		"noinput":  {"exited with status 0", "-i is missing", core.RemedyEditConfig, "args"},
		"http":     {"did not respond within 700ms", `add "url": "http://127.0.0.1:3000/mcp"`, core.RemedyEditConfig, "url"},
		"signal":   {"ended by signal: segmentation fault", "", core.RemedySeeLog, ""},
		"silent":   {"exited with status 0", "", core.RemedySeeLog, ""},
		"port":     {"exited with status 1: Error: listen EADDRINUSE", "Stop that program", core.RemedyFreePort, ""},
		"uvx":      {`executable not found: "uvx"`, "https://docs.astral.sh/uv", core.RemedyInstallProgram, "uv"},
		"unknown":  {`executable not found: "acme-mcp-nosuch"`, "set command to its full path", core.RemedyEditConfig, "command"},
		"variable": {"variable ${ACME_NOSUCH_TOKEN} is not set", "Set it where your login shell reads it", core.RemedySetVariable, "ACME_NOSUCH_TOKEN"},
	} {
		st := g.wait(id, core.StateFailed)
		assert.Truef(t, strings.HasPrefix(st.Reason, want.reason) && strings.Contains(st.Hint, want.hint), "%s: reason %q, hint %q", id, st.Reason, st.Hint)
		assert.Equal(t, want.kind, st.Remedy.Kind, id)
		assert.Equal(t, want.name, st.Remedy.Name, id)
	}
}

// A second launch for the other era within one start doubled the number of processes.
func TestFiveAttemptsLaunchFiveProcesses(t *testing.T) {
	g, file := newReal(t), filepath.Join(t.TempDir(), "launches")
	g.apply(exitingServer("bad", `echo x >> `+file+`; exit 1`, 5))
	st := g.wait("bad", core.StateFailed)
	text, err := os.ReadFile(file)
	n := strings.Count(string(text), "x")
	assert.Truef(t, err == nil && n == 5 && strings.HasSuffix(st.Reason, "gave up after 5 starts"), "%d launches, %v: %s", n, err, st.Reason)
}

func TestCallDuringCrashReportsExitReason(t *testing.T) {
	for account, name := range map[string]string{"": `server "a"`, "work": `account "work" of server "a"`} {
		g := newReal(t)
		a := mode("a", "exit-call")
		a.Accounts = map[string]config.Account{"work": {Env: a.Env}}
		g.apply(a)
		g.wait("a", core.StateRunning)
		tool := firstTool(g, "a")
		c := &core.Call{Server: "a", Account: account, Method: "tools/call", Name: tool, Era: core.Legacy, Params: []byte(`{"name":"` + tool + `"}`)}
		up, err := g.For(t.Context(), c)
		require.NoError(t, err)
		_, err = up.Send(t.Context(), c, nil)
		message, _ := core.Describe(err)
		assert.Truef(t, strings.HasPrefix(message, "the connection to "+name+" was lost: exited with status "), "%s: got %q", name, message)
	}
}

// The line reaches clients and the page, so it is short and secrets in it are masked.
func TestSecretInLastStderrLineIsRedacted(t *testing.T) {
	g := newReal(t)
	logs := serverlog.Open("", func(line string) string { return strings.ReplaceAll(line, "hunter2hunter2", "[redacted]") })
	t.Cleanup(func() { require.NoError(t, logs.Close()) })
	g.dialer.Logs = logs
	g.apply(exitingServer("a", `echo "Error: key hunter2hunter2 is not valid $(printf %05000d 0)" >&2; exit 1`, 1))
	st := g.wait("a", core.StateFailed)
	if !strings.HasPrefix(st.Reason, "exited with status 1: Error: key [redacted] is not valid") || len(st.Reason) > 1000 {
		t.Errorf("reason of %d bytes: %.200s", len(st.Reason), st.Reason)
	}
	_, _, err := g.call("a", "anything", core.Legacy)
	if message, hint := core.Describe(err); strings.Contains(message+hint+st.Hint, "hunter2") || len(message) > 1000 {
		t.Errorf("message of %d bytes: %.200s; hint %.200s", len(message), message, hint)
	}
}
