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
