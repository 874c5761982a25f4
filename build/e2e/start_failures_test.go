//go:build e2e

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test runs the program without a subcommand where the daemon cannot start.
func TestFailedStartReportsReasonImmediately(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, c := range []struct {
		name, config string
		args, says   []string
	}{
		{"the port is taken", `{"bridge":{"listen":"` + taken.Addr().String() + `"}}`, nil, []string{"the port is in use", "drawbridge --listen 127.0.0.1:"}},
		{"a wrong configuration", `{"mcpServers":{"x":{}}}`, []string{"--strict", "--listen", "127.0.0.1:0"}, []string{"did not start: ", "x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(data, "config.jsonc"), []byte(c.config), 0o600))
			cmd := command(t, []string{"HOME=" + t.TempDir()}, binary, append([]string{"--data", data, "--no-tray"}, c.args...)...)
			began := time.Now()
			out, _ := cmd.CombinedOutput()
			took := time.Since(began)
			assert.Truef(t, took <= limit(5*time.Second), "it took %s", took)
			assert.Equal(t, 1, cmd.ProcessState.ExitCode())
			for _, want := range c.says {
				assert.Contains(t, string(out), want, "it does not say")
			}
		})
	}
}

// A full disk must not prevent the start of servers.
func TestStartOnFullDiskUsesReservedSpace(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=32m,mode=700", "tmpfs", data).CombinedOutput(); err != nil {
		t.Skipf("no small disk: %v %s", err, tail(string(out)))
	}
	t.Cleanup(func() { exec.Command("umount", "-l", data).Run() })
	d := newDaemon(t)
	d.data = data
	d.write("config.jsonc", object{})
	d.launch()
	eventually.TrueWithin(t, limit(10*time.Second), "no room is held free", func() bool {
		info, err := os.Stat(filepath.Join(data, "history.db.reserved"))
		return err == nil && info.Size() >= 8<<20
	})
	d.stop()
	rest, err := os.Create(filepath.Join(data, "rest"))
	require.NoError(t, err)
	defer rest.Close()
	for chunk := make([]byte, 4096); err == nil; {
		_, err = rest.Write(chunk)
	}
	d.launch()
	_, err = os.Stat(filepath.Join(data, "history.db.reserved"))
	assert.Error(t, err, "the room is still held free")
}
