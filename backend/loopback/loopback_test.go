package loopback

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOnlyLoopbackAddressesAreListenedOn(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{":7575", "0.0.0.0:0", "[::]:0", "192.168.1.2:0", "example.org:0", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "[::ffff:127.0.0.1]:0", "[::1%lo]:0", "", "127.1:0"} {
		ln, err := Listen(addr)
		if err == nil {
			_ = ln.Close()
			t.Errorf("listens on %q", addr)
		} else if core.CodeOf(err) != core.CodeValidation {
			t.Errorf("%q: %v", addr, err)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "127.0.0.9:0"} {
		ln, err := Listen(addr)
		if err != nil {
			if strings.HasPrefix(addr, "[") && core.CodeOf(err) == core.CodeUnavailable {
				continue // a machine without IPv6
			}
			t.Errorf("%q: %v", addr, err)
			continue
		}
		assert.Truef(t, ln.Addr().(*net.TCPAddr).IP.IsLoopback(), "%q became %s", addr, ln.Addr())
		_ = ln.Close()
	}
}

func TestPortConflictNamesOwner(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = other.Close() }()
	_, err = Listen(other.Addr().String())
	require.ErrorIs(t, err, ErrPortTaken)
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	message, hint := core.Describe(err)
	if runtime.GOOS == "linux" && !strings.Contains(message, fmt.Sprintf("(pid %d)", os.Getpid())) || hint == "" {
		t.Errorf("people read: %s. %s", message, hint)
	}
}

func TestFilesArePrivateUnderAnyUmask(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("access lists")
	}
	dir := filepath.Join(t.TempDir(), "data")
	restore := umask(0)
	defer restore()
	tokens, err := NewTokens(dir, nil)
	require.NoError(t, err)
	_, err = tokens.Create("cursor")
	require.NoError(t, err)
	_, err = OpenAdminToken(dir)
	require.NoError(t, err)
	lock, err := Lock(dir)
	require.NoError(t, err)
	defer func() { _ = lock.Close() }()
	require.NoError(t, WriteRuntime(dir, Runtime{PID: 1}))
	s := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1})
	_, _, err = s.Exchange(s.NewCode())
	require.NoError(t, err)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 6)
	for _, e := range entries {
		info, _ := e.Info()
		assert.EqualValues(t, 0o600, info.Mode().Perm())
	}
	info, _ := os.Stat(dir)
	assert.EqualValues(t, 0o700, info.Mode().Perm(), "the folder")
	require.NoError(t, os.Chmod(filepath.Join(dir, "tokens.json"), 0o644))
	_, err = NewTokens(dir, nil)
	require.NoError(t, err)
	info, _ = os.Stat(filepath.Join(dir, "tokens.json"))
	assert.EqualValues(t, 0o600, info.Mode().Perm(), "a file that others could read stays")
}
