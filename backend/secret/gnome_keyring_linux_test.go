package secret

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

func init() {
	childTests["keyring"], childTests["none"] = withKeyring, withoutKeyring
}

func TestRealKeyringStoresKeyAndItsLockIsRespected(t *testing.T) { runInChild(t, "keyring") }

func TestMissingKeyringFallsBackToKeyFileWithNotice(t *testing.T) { runInChild(t, "none") }

// runInChild starts this test binary with a separate session bus and home directory, so that it
// cannot reach the user's keyring.
func runInChild(t *testing.T, what string) {
	t.Helper()
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("needs %s: apt-get install dbus gnome-keyring", program)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{"--", os.Args[0]}
	if what == "none" { // a bus without activatable services
		config := filepath.Join(t.TempDir(), "bus.conf")
		text := `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default"><allow send_destination="*"/><allow own="*"/><allow receive_sender="*"/></policy></busconfig>`
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		args = append([]string{"--config-file=" + config}, args...)
	}
	cmd := exec.CommandContext(ctx, "dbus-run-session", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "XDG_RUNTIME_DIR=" + t.TempDir(), "SECRET_INSIDE=" + what}
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
}

// startUnlockedKeyring starts a keyring daemon with an open login collection. It replaces a running
// daemon.
func startUnlockedKeyring() (end func(), err error) {
	cmd := exec.Command("gnome-keyring-daemon", "--foreground", "--replace", "--unlock", "--components=secrets")
	cmd.Stdin = strings.NewReader("the user's password")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return end, err
	}
	defer conn.Close()
	for range 300 { // poll: a D-Bus call would start another daemon
		var pid uint32
		_ = conn.BusObject().Call(dbusService+".GetConnectionUnixProcessID", 0, secretService).Store(&pid)
		if int(pid) == cmd.Process.Pid && keyringState(context.Background()) == Open {
			return end, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	end()
	return nil, errors.New("the keyring does not open")
}

func withKeyring(home string) error {
	ctx, dir := context.Background(), filepath.Join(home, "data")
	end, err := startUnlockedKeyring()
	if err != nil {
		return err
	}
	defer func() { end() }()
	s := New(Options{Dir: dir})
	if err := s.Set(ctx, "a", canary); err != nil {
		return err
	}
	if st := s.Status(ctx); st.Home != InKeyring || st.Notice != "" {
		return fmt.Errorf("status %+v", st)
	}
	if got, err := New(Options{Dir: dir}).Get(ctx, "a"); err != nil || got != canary {
		return fmt.Errorf("a second process reads %q (%v)", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "secrets.key")); err == nil {
		return errors.New("the key is in a file too")
	}
	if err := lockAll(); err != nil {
		return err
	}
	if state := keyringState(ctx); state != Locked { // Get would open a prompt
		return fmt.Errorf("a locked keyring looks %s", state)
	}
	began := time.Now()
	late := New(Options{Dir: dir})
	if _, err := late.Get(ctx, "a"); !errors.Is(err, ErrLocked) {
		return fmt.Errorf("locked: %v", err)
	}
	if st := late.Status(ctx); !st.Locked {
		return fmt.Errorf("locked: status %+v", st)
	}
	fmt.Printf("locked was noticed after %s\n", time.Since(began))
	end()
	if _, err := late.Get(ctx, "a"); !errors.Is(err, ErrLocked) {
		return fmt.Errorf("without the daemon: %v", err)
	}
	if end, err = startUnlockedKeyring(); err != nil {
		return err
	}
	if got, err := late.Get(ctx, "a"); err != nil || got != canary {
		return fmt.Errorf("unlocked again: %q (%v)", got, err)
	}
	return nil
}

func lockAll() error {
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Object(secretService, secretsPath).Call("org.freedesktop.Secret.Service.Lock", 0, []dbus.ObjectPath{secretsPath + "/collection/login"}).Err
}

func withoutKeyring(home string) error {
	ctx, dir := context.Background(), filepath.Join(home, "data")
	if state := keyringState(ctx); state != Absent {
		return fmt.Errorf("looks %s", state)
	}
	s := New(Options{Dir: dir})
	if err := s.Set(ctx, "a", canary); err != nil {
		return err
	}
	if st := s.Status(ctx); st.Home != InFile || !strings.Contains(st.Notice, "no keyring") {
		return fmt.Errorf("status %+v", st)
	}
	info, err := os.Stat(filepath.Join(dir, "secrets.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		return fmt.Errorf("the key file: %v (%v)", info, err)
	}
	return nil
}
