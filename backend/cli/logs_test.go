package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
)

// TestLogsAreReadWithoutDaemon uses the log files of a daemon that has exited.
func TestLogsAreReadWithoutDaemon(t *testing.T) {
	data := t.TempDir()
	for path, text := range map[string]string{
		"logs/drawbridge.log": `st of a line that was cut"}` + "\n" +
			`{"time":"2026-11-23T01:02:03Z","level":"INFO","msg":"Drawbridge is ready","url":"http://127.0.0.1:1"}` + "\n" +
			`{"time":"2026-11-23T01:02:04Z","level":"ERROR","msg":"Drawbridge stopped because of an error","error":"the port is taken"}` + "\n",
		"config.jsonc": `{"mcpServers":{"my server":{"command":"true"}}}`,
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(data, path)), 0o700))
		must(t, os.WriteFile(filepath.Join(data, path), []byte(text), 0o600))
	}
	server := serverlog.Open(filepath.Join(data, "logs", "servers"), nil)
	server.Append("my-server", serverlog.Stderr, "no key was given")
	must(t, server.Close())
	run := func(args ...string) (int, string, string) {
		got := runMain(t.Context(), data, func(*Options) {}, args...)
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
