package loopback

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMigratingDaemonIsAwaited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	await := func(ctx context.Context, next map[string]func()) (steps []string, err error) {
		err = AwaitMigration(ctx, dir, func(step string) {
			steps = append(steps, step)
			if do := next[step]; do != nil {
				do()
			}
		})
		return steps, err
	}
	must(t, WriteRuntime(dir, Runtime{Starting: "step 1 of 2"}))
	if steps, err := await(t.Context(), nil); err != nil || len(steps) > 0 {
		t.Fatalf("a dead daemon: %q, %v", steps, err)
	}
	lock, err := Lock(dir)
	must(t, err)
	const first, second = "Drawbridge is starting: step 1 of 2", "Drawbridge is starting: step 2 of 2"
	ctx, cancel := context.WithCancel(t.Context())
	if steps, err := await(ctx, map[string]func(){first: cancel}); err == nil || err.Error() != first || len(steps) != 1 {
		t.Errorf("interrupted: %q, %v", steps, err)
	}
	steps, err := await(t.Context(), map[string]func(){
		first:  func() { must(t, WriteRuntime(dir, Runtime{Starting: "step 2 of 2"})) },
		second: func() { must(t, WriteRuntime(dir, Runtime{URL: "http://127.0.0.1:7575"})) },
	})
	if err != nil || !slices.Equal(steps, []string{first, second}) {
		t.Errorf("migrated: %q, %v", steps, err)
	}
	must(t, lock.Close())
}

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
	must(t, WriteRuntime(dir, Runtime{PID: 42, Starting: "step 2 of 6"}))
	if _, ok, err := FindDaemon(dir); ok || err != nil || StartingDaemon(dir) != "Drawbridge is starting: step 2 of 6" {
		t.Fatalf("a daemon that migrates: found %v, %v, described as %q", ok, err, StartingDaemon(dir))
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
