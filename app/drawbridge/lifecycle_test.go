package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
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
	if want := []string{"http", "supervisor", "store"}; !slices.Equal(order, want) {
		t.Fatalf("stopped in the order %v", order)
	}
	if err == nil || !strings.Contains(err.Error(), "cannot stop supervisor: boom") {
		t.Fatalf("got %v", err)
	}
}

func TestStopAbandonsHangingComponents(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	release := make(chan struct{})
	defer close(release)
	l.onStop("hanging part", 10*time.Millisecond, func(context.Context) error { <-release; return nil })
	if err := l.stop(); err == nil || !strings.Contains(err.Error(), "hanging part") {
		t.Fatalf("got %v", err)
	}
}

func TestUnexpectedComponentExitStopsProgram(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	l.run("listener", time.Second, func(context.Context) error { return errors.New("port gone") })
	if err := <-l.ended; !strings.Contains(err.Error(), "listener stopped unexpectedly: port gone") {
		t.Fatalf("got %v", err)
	}
	l.run("loop", time.Second, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if err := l.stop(); err == nil || strings.Contains(err.Error(), "loop") {
		t.Fatalf("got %v", err)
	}
}

func TestSlowComponentStopsImmediately(t *testing.T) {
	l := newLifecycle(slog.New(slog.DiscardHandler))
	stopping := make(chan struct{})
	l.runSlow("servers", time.Second, func(ctx context.Context) error { <-ctx.Done(); close(stopping); return nil })
	l.onStop("listener", time.Second, func(context.Context) error { <-stopping; return nil })
	if err := l.stop(); err != nil {
		t.Fatal(err)
	}
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
		if (want == "") != (len(got) == 0) || want != "" && (got[0].Message != want || got[0].Subject != "cleanup") {
			t.Errorf("%+v: %+v", l, got)
		}
	}
}

func TestWaitEndsWithCleanupOrContext(t *testing.T) {
	s := &startupCleanup{done: make(chan struct{}), result: cleanupResult{processes: 2}}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	if got := s.notices(); got != nil {
		t.Errorf("notices before the cleanup: %v", got)
	}
	close(s.done)
	if err := s.wait(t.Context()); err != nil {
		t.Errorf("after the cleanup: %v", err)
	}
	if got := s.notices(); len(got) != 1 {
		t.Errorf("notices after the cleanup %v", got)
	}
}
