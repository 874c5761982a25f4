package main

import (
	"context"
	"errors"
	"testing"
)

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
