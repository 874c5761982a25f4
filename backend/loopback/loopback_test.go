package loopback

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

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
		if !ln.Addr().(*net.TCPAddr).IP.IsLoopback() {
			t.Errorf("%q became %s", addr, ln.Addr())
		}
		_ = ln.Close()
	}
}

func TestPortConflictNamesOwner(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = other.Close() }()
	_, err = Listen(other.Addr().String())
	if !errors.Is(err, ErrPortTaken) || core.CodeOf(err) != core.CodeConflict {
		t.Fatalf("got %v", err)
	}
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
	must(t, err)
	if _, err := tokens.Create("cursor"); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenAdminToken(dir); err != nil {
		t.Fatal(err)
	}
	lock, err := Lock(dir)
	must(t, err)
	defer func() { _ = lock.Close() }()
	must(t, WriteRuntime(dir, Runtime{PID: 1}))
	s := OpenBrowserSessions(SessionOptions{DataDir: dir, Port: 1})
	if _, _, err := s.Exchange(s.NewCode()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 6 {
		t.Fatalf("%v, %v", entries, err)
	}
	for _, e := range entries {
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %v", e.Name(), info.Mode())
		}
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v", info.Mode())
	}
	must(t, os.Chmod(filepath.Join(dir, "tokens.json"), 0o644))
	if _, err := NewTokens(dir, nil); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(filepath.Join(dir, "tokens.json")); info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could read stays %v", info.Mode())
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
