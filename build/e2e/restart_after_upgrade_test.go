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
)

// TestDaemonRestartsWithInstalledVersion installs another version over a running daemon, as a
// package manager does. The version is a script, so that nothing has to be built.
func TestDaemonRestartsWithInstalledVersion(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	// npm renames the folder of the old version, so the running program is elsewhere then.
	folder := filepath.Join(t.TempDir(), "package")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	d.program = filepath.Join(folder, "drawbridge")
	run(t, exec.Command("cp", binary, d.program), 0)
	d.write("config.jsonc", object{"mcpServers": object{"demo": demo()}, "updates": object{"restartIdleMs": 1000}})
	d.launch()
	d.running("demo")
	client := d.shim(t)
	client.initialize(`{}`)
	echo := func(id int, text string) {
		t.Helper()
		if got := client.ask(id, "tools/call", fmt.Sprintf(`"name":"demo__echo","arguments":{"text":%q}`, text)).line; !strings.Contains(got, text) {
			t.Errorf("the client gets %s", got)
		}
	}
	echo(2, "before")

	install := func(script string) {
		t.Helper()
		next := d.program + ".new"
		if err := os.WriteFile(next, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, d.program); err != nil {
			t.Fatal(err)
		}
	}
	runtime := func() string {
		src, _ := os.ReadFile(filepath.Join(d.data, "runtime.json"))
		return string(src)
	}
	first := runtime()
	if err := os.Rename(folder, folder+"-old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	install("exit 3\n")
	eventually.True(t, "a program that does not start is reported", func() bool {
		return strings.Contains(d.log.String(), "replaced by one that does not start")
	})
	install(`if [ "$1" = version ]; then echo '{"version":"9.9.9"}'; exit; fi` + "\nexec " + binary + ` "$@"` + "\n")
	eventually.TrueWithin(t, limit(20*time.Second), "the daemon has not restarted", func() bool {
		now := runtime()
		return now != "" && now != first
	})
	if d.ended() {
		t.Error("the process that was started has ended")
	}
	if !strings.Contains(d.log.String(), "version=9.9.9") {
		t.Error("the log does not say which version is started")
	}
	echo(3, "after")
	if calls := d.calls(); len(calls) != 2 {
		t.Errorf("the history contains %v", calls)
	}
}
