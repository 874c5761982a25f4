package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStopRunsInReverseDespiteErrors(t *testing.T) {
	var order []string
	l := newLifecycle(slog.New(slog.DiscardHandler))
	for _, name := range []string{"store", "supervisor", "http"} {
		l.onStop(name, time.Second, func(context.Context) error {
			order = append(order, name)
			if name == "supervisor" {
				return errors.New("boom")
			}
			return nil
		})
	}
	err := l.stop()
	want := []string{"http", "supervisor", "store"}
	require.Equal(t, want, order, "stopped in the order")
	require.ErrorContains(t, err, "cannot stop supervisor: boom")
}

func TestStopAbandonsHangingComponents(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	release := make(chan struct{})
	defer close(release)
	l.onStop("hanging part", 10*time.Millisecond, func(context.Context) error { <-release; return nil })
	require.ErrorContains(t, l.stop(), "hanging part")
}

func TestUnexpectedComponentExitStopsProgram(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	l.run("listener", time.Second, func(context.Context) error { return errors.New("port gone") })
	err := <-l.ended
	require.Contains(t, err.Error(), "listener stopped unexpectedly: port gone")
	l.run("loop", time.Second, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	err = l.stop()
	require.Truef(t, err != nil && !strings.Contains(err.Error(), "loop"), "got %v", err)
}

func TestSlowComponentStopsImmediately(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	stopping := make(chan struct{})
	l.runSlow("servers", time.Second, func(ctx context.Context) error { <-ctx.Done(); close(stopping); return nil })
	l.onStop("listener", time.Second, func(context.Context) error { <-stopping; return nil })
	require.NoError(t, l.stop())
}

func TestLeftoversOfEarlierRunAreReported(t *testing.T) {
	for l, want := range map[cleanupResult]string{
		{}:     "",
		{1, 0}: "Stopped 1 process left over from an earlier run.",
		{2, 0}: "Stopped 2 processes left over from an earlier run.",
		{0, 2}: "Stopped 2 processes in containers left over from an earlier run.",
		{2, 1}: "Stopped 2 processes and 1 in containers left over from an earlier run.",
	} {
		got := l.notices()
		assert.Truef(t, (want == "") == (len(got) == 0) && !(want != "" && (got[0].Message != want || got[0].Subject != "cleanup")), "%+v: %+v", l, got)
	}
}

func TestWaitEndsWithCleanupOrContext(t *testing.T) {
	s := &startupCleanup{done: make(chan struct{}), result: cleanupResult{processes: 2}}
	ended, end := context.WithCancel(t.Context())
	end()
	assert.ErrorIs(t, s.wait(ended), context.Canceled, "the wait ended")
	assert.Nil(t, s.notices(), "notices before the cleanup")
	close(s.done)
	assert.NoError(t, s.wait(t.Context()), "after the cleanup")
	assert.Len(t, s.notices(), 1, "notices after the cleanup")
}
