package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

func TestABatchPausesWhileFewCallsWaitBehindIt(t *testing.T) {
	s, err := Open(context.Background(), Options{Path: filepath.Join(t.TempDir(), "history.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := s.Recorder()
	if !r.calm() || r.disturbed() {
		t.Error("an empty queue is no hurry, and disturbs nobody")
	}
	r.mu.Lock()
	r.queue = make([]entry, 10)
	r.mu.Unlock()
	if !r.calm() || !r.disturbed() {
		t.Error("ten calls are no hurry, and are disturbed by who works beside them")
	}
	r.mu.Lock()
	r.queue = make([]entry, batchRows/4)
	r.mu.Unlock()
	if r.calm() || r.disturbed() {
		t.Error("many calls wait, and the batch takes its time")
	}
	r.mu.Lock()
	r.queue, r.flushed = nil, make(chan struct{})
	r.mu.Unlock()
	if r.calm() {
		t.Error("somebody waits, and the batch takes its time")
	}
	r.mu.Lock()
	r.flushed = nil
	r.mu.Unlock()
	began := time.Now()
	if breathe(time.Hour); time.Since(began) > 5*time.Second {
		t.Error("a pause is short, whatever took long before")
	}
}
