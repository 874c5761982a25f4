package main

import (
	"context"
	"errors"
	"testing"
)

// The processes of an earlier run must be gone before we start any.
func TestServersStartAfterLeftoversAreKilled(t *testing.T) {
	s := &startupCleanup{over: make(chan struct{}), left: cleanupResult{processes: 2}}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := s.wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v", err)
	}
	if got := s.notices(); got != nil {
		t.Errorf("told before it is known: %v", got)
	}
	close(s.over)
	if err := s.wait(t.Context()); err != nil {
		t.Errorf("after the sweep: %v", err)
	}
	if got := s.notices(); len(got) != 1 {
		t.Errorf("afterwards the user hears %v", got)
	}
}
