package loopback

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestOneDaemonPerDataFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	if held, err := IsDaemonRunning(dir); held || err != nil {
		t.Fatalf("a folder that is not there is held: %v", err)
	}
	lock, err := Lock(dir)
	must(t, err)
	if _, ok, err := FindDaemon(dir); ok || err != nil {
		t.Fatalf("a daemon that does not answer yet is found: %v", err)
	}
	if got := StartingDaemon(dir); got != "Drawbridge is starting or stopping" {
		t.Errorf("a daemon that does not answer yet is described as %q", got)
	}
	want := Runtime{PID: 42, URL: "http://127.0.0.1:7575", Version: "1", StartedAt: time.Unix(1, 0).UTC()}
	must(t, WriteRuntime(dir, want))
	if rt, ok, err := FindDaemon(dir); !ok || rt != want || err != nil {
		t.Fatalf("got %+v, %v, %v", rt, ok, err)
	}
	_, err = Lock(dir)
	if held, ok := errors.AsType[*HeldError](err); !ok || held.Runtime != want || !strings.Contains(err.Error(), want.URL) {
		t.Fatalf("a second daemon gets %v", err)
	}
	must(t, lock.Close())
	if _, ok, err := FindDaemon(dir); ok || err != nil {
		t.Fatalf("a dead daemon's file is believed: %v", err)
	}
	if got := StartingDaemon(dir); got != "" {
		t.Errorf("a dead daemon is described as %q", got)
	}
	for range 2 {
		must(t, RemoveRuntime(dir))
	}
	again, err := Lock(dir)
	must(t, err)
	_ = again.Close()
}
