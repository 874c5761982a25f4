//go:build e2e

package e2e

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// SEC-03: with an open umask, only the user can read the files that Drawbridge writes.
func TestEveryFileIsPrivateUnderOpenUmask(t *testing.T) {
	t.Parallel()
	was := syscall.Umask(0)
	defer syscall.Umask(was)
	d := start(t, object{"mcpServers": object{"demo": object{"command": binary, "args": []string{"demo-server"}}}}, "DRAWBRIDGE_KEYRING=off")
	d.running("demo")
	d.token("cursor")
	code, text := d.do("PUT", "/api/v1/secrets/one", strings.NewReader(`{"value":"a-secret-value"}`))
	require.Truef(t, code < 300, "%d %s", code, text)
	require.Empty(t, d.says("demo", "echo", `{"text":"x"}`))
	d.cli(0, "backup")
	d.cli(0, "history", "backup", filepath.Join(d.data, "history-copy.db"))
	d.stop()
	d.cli(0, "backup", "restore")
	d.launch("DRAWBRIDGE_KEYRING=off")
	d.running("demo")
	d.stop()
	files := 0
	err := filepath.WalkDir(d.data, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch name := filepath.Base(path); {
		case path == d.data || name == "config.jsonc" && info.Mode().Perm() == 0o600: // written by this test
		case e.IsDir() && info.Mode().Perm() != 0o700, e.Type().IsRegular() && info.Mode().Perm() != 0o600:
			t.Errorf("%s is %s", path, info.Mode())
		default:
			files++
		}
		return nil
	})
	assert.Truef(t, err == nil && files >= 8, "%d files (%v)", files, err)
}
