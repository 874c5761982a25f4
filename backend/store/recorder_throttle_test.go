package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func TestBatchPausesWhileFewCallsAreQueued(t *testing.T) {
	s, err := Open(context.Background(), Options{Path: filepath.Join(t.TempDir(), "history.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	r := s.Recorder()
	if !r.lowPressure() || r.lightLoad() {
		t.Error("an empty queue is no hurry, and disturbs nobody")
	}
	r.mu.Lock()
	r.queue = make([]entry, 10)
	r.mu.Unlock()
	if !r.lowPressure() || !r.lightLoad() {
		t.Error("ten calls are no hurry, and are disturbed by who works beside them")
	}
	r.mu.Lock()
	r.queue = make([]entry, batchRows/4)
	r.mu.Unlock()
	if r.lowPressure() || r.lightLoad() {
		t.Error("many calls wait, and the batch takes its time")
	}
	r.mu.Lock()
	r.queue, r.flushed = nil, make(chan struct{})
	r.mu.Unlock()
	if r.lowPressure() {
		t.Error("somebody waits, and the batch takes its time")
	}
	r.mu.Lock()
	r.flushed = nil
	r.mu.Unlock()
	began := time.Now()
	if yieldProcessor(time.Hour); time.Since(began) > 5*time.Second {
		t.Error("a pause is short, whatever took long before")
	}
}

// The pauses of a batch are bounded for any number of statements, because calls wait for it.
func TestBatchPausesAreBounded(t *testing.T) {
	t.Parallel()
	asked := 0
	b := writeThrottle{mayPause: func() bool { asked++; return true }, remaining: maxPauses}
	for range 1000 {
		b.pause(time.Hour) // at least a millisecond
	}
	if most := int(maxPauses/time.Millisecond) + 1; asked > most {
		t.Errorf("%d pauses of a millisecond, %d are allowed", asked, most)
	}
	s := fresh(t)
	for n := range 2 {
		if err := s.write(t.Context(), aBatch(n*batchRows, "s1")); err != nil {
			t.Fatal(err)
		}
		if left := s.h.insert.throttle.remaining; left == maxPauses || left < -patient {
			t.Errorf("batch %d: %s of its pauses are left", n, left)
		}
		s.h.insert.throttle.remaining = -time.Hour
	}
}

// TestCallsAreRecordedDuringRetention prunes in a hundred steps.
func TestCallsAreRecordedDuringRetention(t *testing.T) {
	t.Parallel()
	s, err := Open(context.Background(), Options{Path: filepath.Join(t.TempDir(), "history.db"), Keep: RetentionLimits{Age: -1, Bytes: -1, Rows: 10}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for n := range 10 {
		if err := s.write(t.Context(), aBatch(n*batchRows, "s1")); err != nil {
			t.Fatal(err)
		}
	}
	s.timeouts.retention = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Recorder().Run(ctx) }()
	defer func() { cancel(); <-done }()
	rows := func() (n int) {
		if err := s.h.read.QueryRow(`SELECT count(*) FROM call`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	eventually.True(t, "the first step", func() bool { return rows() < 10*batchRows })
	s.Recorder().Record(aCall(10*batchRows), aReply)
	eventually.True(t, "a call on disk", func() bool { n, _ := s.Recorder().progress(); return n > 0 })
	if rows() <= 10*batchRows+1-100*firstPruneRows {
		t.Error("a call waited until all steps were done")
	}
}
