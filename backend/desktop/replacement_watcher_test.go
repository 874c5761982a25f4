package desktop

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// replaced runs a ReplacementWatcher for a program that prints version 1.0.0.
type replaced struct {
	*ReplacementWatcher
	restarted chan struct{}
	busy      atomic.Bool
	calls     atomic.Int64
}

func newReplaced(t *testing.T, idle time.Duration) *replaced {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the file of a running program cannot be replaced")
	}
	r := &replaced{restarted: make(chan struct{})}
	program := filepath.Join(t.TempDir(), "program")
	install(t, program, "1.0.0")
	r.ReplacementWatcher = NewReplacementWatcher(ReplacementWatcherOptions{
		Program: program, Version: "1.0.0", Bus: new(core.Bus), Log: slog.New(slog.DiscardHandler),
		IdleTime: func() time.Duration { return idle },
		Activity: func() (int64, bool) { return r.calls.Load(), r.busy.Load() },
		Restart:  func() { close(r.restarted) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

func (r *replaced) install(t *testing.T, version string) {
	t.Helper()
	install(t, r.Program, version)
}

// install replaces a program by one that prints a version.
func install(t *testing.T, program, version string) {
	t.Helper()
	next := program + ".new"
	require.NoError(t, os.WriteFile(next, []byte("#!/bin/sh\necho '{\"version\":\""+version+"\"}'\n"), 0o755))
	require.NoError(t, os.Rename(next, program))
}

func (r *replaced) announces(t *testing.T, want string) {
	t.Helper()
	eventually.True(t, "the notice contains "+want, func() bool { return strings.Contains(r.Notice().Message, want) })
}

func TestReplacedProgramRestartsWhenIdle(t *testing.T) {
	t.Parallel()
	r := newReplaced(t, 100*time.Millisecond)
	r.busy.Store(true)
	r.install(t, "1.1.0")
	r.announces(t, "Drawbridge 1.1.0 is installed, but 1.0.0 is still running")
	select {
	case <-r.restarted:
		t.Fatal("it restarted during a call")
	case <-time.After(300 * time.Millisecond):
	}
	r.busy.Store(false)
	<-r.restarted
}

func TestSameVersionDoesNotRestart(t *testing.T) {
	t.Parallel()
	r := newReplaced(t, 50*time.Millisecond)
	r.install(t, "1.0.0")
	select {
	case <-r.restarted:
		t.Fatal("it restarted with its own version")
	case <-time.After(500 * time.Millisecond):
	}
	assert.Empty(t, r.Notice().Message)
}

func TestNewestOfSeveralInstalledVersionsIsAnnounced(t *testing.T) {
	t.Parallel()
	r := newReplaced(t, 50*time.Millisecond)
	r.busy.Store(true)
	r.install(t, "1.1.0")
	r.announces(t, "1.1.0")
	r.install(t, "1.2.0")
	r.announces(t, "1.2.0")
}

func TestNoRestartIfSwitchedOff(t *testing.T) {
	t.Parallel()
	r := newReplaced(t, 0)
	r.install(t, "1.1.0")
	select {
	case <-r.restarted:
		t.Fatal("it restarted")
	case <-time.After(300 * time.Millisecond):
	}
}
