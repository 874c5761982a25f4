package supervisor

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLogsAreReadWithoutDaemon uses the log files of a daemon that has exited.
func TestLogsAreReadWithoutDaemon(t *testing.T) {
	f := terminaltest.Stopped(t, Commands)
	data := f.Data
	for path, text := range map[string]string{
		"logs/drawbridge.log": `st of a line that was cut"}` + "\n" +
			`{"time":"2026-11-23T01:02:03Z","level":"INFO","msg":"Drawbridge is ready","url":"http://127.0.0.1:1"}` + "\n" +
			`{"time":"2026-11-23T01:02:04Z","level":"ERROR","msg":"Drawbridge stopped because of an error","error":"the port is taken"}` + "\n",
		"config.jsonc": `{"mcpServers":{"my server":{"command":"true"}}}`,
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(data, path)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(data, path), []byte(text), 0o600))
	}
	server := serverlog.Open(filepath.Join(data, "logs", "servers"), nil)
	server.Append("my-server", serverlog.Stderr, "no key was given")
	require.NoError(t, server.Close())
	run := func(args ...string) (int, string, string) {
		got := f.Run(false, args...)
		return got.Code, got.Out, got.Err
	}
	code, out, errOut := run("logs")
	if code != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "error Drawbridge stopped because of an error error=the port is taken") || !strings.Contains(errOut, "Drawbridge is not running") {
		t.Errorf("logs: %d\n%s%s", code, out, errOut)
	}
	if code, out, _ = run("logs", "--level", "error"); code != 0 || strings.Contains(out, "ready") {
		t.Errorf("errors alone: %d\n%s", code, out)
	}
	if code, out, errOut = run("logs", "my server"); code != 0 || !strings.Contains(out, "no key was given") {
		t.Errorf("a server: %d\n%s%s", code, out, errOut)
	}
	if code, out, _ = run("logs", "--json"); code != 0 || !strings.Contains(out, `"server":"drawbridge","level":"info"`) {
		t.Errorf("JSON: %d\n%s", code, out)
	}
	if code, _, errOut = run("logs", "--follow"); code != 1 || !strings.Contains(errOut, "Start it with: drawbridge") {
		t.Errorf("follow: %d %s", code, errOut)
	}
	if code, _, errOut = run("logs", "other"); code != 1 || !strings.Contains(errOut, "other.log") {
		t.Errorf("a server without a log: %d %s", code, errOut)
	}
}

func TestLogsOfAllServersAreOrderedByTime(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/servers", `{"items":[{"id":"a"},{"id":"b"}],"next":""}`)
	f.Answer("GET /api/v1/servers/a/log", `{"items":[{"at":"2026-01-02T03:04:05Z","level":"info","text":"one"},{"at":"2026-01-02T03:04:07Z","level":"debug","text":"three"}]}`)
	f.Answer("GET /api/v1/servers/b/log", `{"items":[{"at":"2026-01-02T03:04:06Z","level":"error","text":"two"}]}`)
	got := f.Run(false, "logs")
	one, two, three := strings.Index(got.Out, "a info  one"), strings.Index(got.Out, "b error two"), strings.Index(got.Out, "a debug three")
	assert.Truef(t, one >= 0 && two >= one && three >= two, "%+v", got)
	if got := f.Run(false, "logs", "-n", "1"); strings.Count(got.Out, "\n") != 1 || !strings.HasPrefix(got.Out, time.Date(2026, 1, 2, 3, 4, 7, 0, time.UTC).Local().Format("2006-01-02 15:04:05.000 ")+"a debug three") {
		t.Errorf("%+v", got)
	}
}

func TestLogsFilterByLevelAndFollowFromLastLine(t *testing.T) {
	f := terminaltest.New(t, Commands)
	ctx, cancel := context.WithCancel(t.Context())
	var asked []string
	f.Mux.HandleFunc("GET /api/v1/servers/a/log", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("level")+" "+r.URL.Query().Get("after"))
		if len(asked) == 2 {
			cancel()
			fmt.Fprint(w, `{"items":[]}`)
			return
		}
		fmt.Fprint(w, `{"items":[{"at":"2026-01-02T03:04:05.678Z","level":"stderr","text":"one"}]}`)
	})
	got := f.RunIn(ctx, false, "logs", "a", "-f", "--level", "stderr", "--json")
	assert.Equal(t, `{"at":"2026-01-02T03:04:05.678Z","server":"a","level":"stderr","text":"one"}`+"\n", got.Out)
	assert.Equal(t, 0, got.Code)
	assert.Truef(t, len(asked) == 2 && asked[0] == "stderr " && asked[1] == "stderr 2026-01-02T03:04:05.678Z", "asked for %q", asked)
	if got := f.Run(false, "logs", "a", "--level", "loud"); got.Code != 2 || !strings.Contains(got.Err, "stderr or lifecycle") {
		t.Errorf("%+v", got)
	}
}
