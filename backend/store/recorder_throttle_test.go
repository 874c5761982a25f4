package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// TestCallsAreRecordedDuringRetention prunes in about fifty steps, of up to maxPruneRows calls.
func TestCallsAreRecordedDuringRetention(t *testing.T) {
	t.Parallel()
	s, err := Open(context.Background(), Options{Path: filepath.Join(t.TempDir(), "history.db"), Keep: RetentionLimits{Age: -1, Bytes: -1, Rows: 10}})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	const batches = 20
	for n := range batches {
		must(t, s.write(t.Context(), aBatch(n*batchRows, "s1")))
	}
	s.timeouts.retention = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Recorder().Run(ctx) }()
	defer func() { cancel(); <-done }()
	rows := func() (n int) {
		must(t, s.h.read.QueryRow(`SELECT count(*) FROM call`).Scan(&n))
		return n
	}
	eventually.True(t, "the first step", func() bool { return rows() < batches*batchRows })
	s.Recorder().Record(aCall(batches*batchRows), aReply)
	eventually.True(t, "a call on disk", func() bool { n, _ := s.Recorder().progress(); return n > 0 })
	if rows() <= 10+1 {
		t.Error("a call waited until all steps were done")
	}
}
