//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDaemonRestartsWithInstalledVersion installs another version over a running daemon, as a
// package manager does. The version is a script, so that nothing has to be built.
func TestDaemonRestartsWithInstalledVersion(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	// npm renames the folder of the old version, so the running program is elsewhere then.
	folder := filepath.Join(t.TempDir(), "package")
	require.NoError(t, os.Mkdir(folder, 0o755))
	d.program = filepath.Join(folder, "drawbridge")
	run(t, exec.Command("cp", binary, d.program), 0)
	d.write("config.jsonc", object{"mcpServers": object{"demo": demo()}, "updates": object{"restartIdleMs": 1000}})
	d.launch()
	d.running("demo")
	client := d.shim(t)
	client.initialize(`{}`)
	echo := func(id int, text string) {
		t.Helper()
		assert.Contains(t, client.ask(id, "tools/call", fmt.Sprintf(`"name":"demo__echo","arguments":{"text":%q}`, text)).line, text)
	}
	echo(2, "before")

	install := func(script string) {
		t.Helper()
		next := d.program + ".new"
		require.NoError(t, os.WriteFile(next, []byte("#!/bin/sh\n"+script), 0o755))
		require.NoError(t, os.Rename(next, d.program))
	}
	runtime := func() string {
		src, _ := os.ReadFile(filepath.Join(d.data, "runtime.json"))
		return string(src)
	}
	first := runtime()
	require.NoError(t, os.Rename(folder, folder+"-old"))
	require.NoError(t, os.Mkdir(folder, 0o755))
	install("exit 3\n")
	eventually.True(t, "a program that does not start is reported", func() bool {
		return strings.Contains(d.log.String(), "replaced by one that does not start")
	})
	install(`if [ "$1" = version ]; then echo '{"version":"9.9.9"}'; exit; fi` + "\nexec " + binary + ` "$@"` + "\n")
	eventually.TrueWithin(t, limit(20*time.Second), "the daemon has not restarted", func() bool {
		now := runtime()
		return now != "" && now != first
	})
	assert.False(t, d.ended(), "the process that was started has ended")
	assert.Contains(t, d.log.String(), "version=9.9.9", "the log does not say which version is started")
	echo(3, "after")
	assert.Len(t, d.calls(), 2, "the history contains")
}
