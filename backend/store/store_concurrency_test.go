package store

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadsDoNotWaitForBusyWriter holds the write lock, so that no recorded call can be written.
func TestReadsDoNotWaitForBusyWriter(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 100)
	flushed(t, b)
	held, let := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- b.transact(context.Background(), func(context.Context, *transaction) error {
			close(held)
			<-let
			return nil
		})
	}()
	<-held
	b.Recorder().Record(aCall(100), aReply)
	b.recorder.mu.Lock()
	b.recorder.rate = writeRate{since: time.Now().Add(time.Hour), perSecond: 1000}
	b.recorder.mu.Unlock()
	for name, ask := range map[string]func() error{
		"a page":          func() error { _, _, err := b.Calls(t.Context(), Query{Limit: 5}); return err },
		"counts":          func() error { _, err := b.Facets(t.Context(), Query{}); return err },
		"percentiles":     func() error { _, err := b.Usage(t.Context(), UsageQuery{}); return err },
		"sessions":        func() error { _, _, err := b.Sessions(t.Context(), 0, 10); return err },
		"one call":        func() error { _, err := b.Call(t.Context(), aCall(7).ID); return err },
		"the page after":  func() error { _, _, err := b.Calls(t.Context(), Query{Before: aCall(50).ID}); return err },
		"clients":         func() error { _, err := b.Clients(t.Context()); return err },
		"how far it came": func() error { _, err := b.Index(t.Context()); return err },
	} {
		answered := make(chan error, 1)
		go func() { answered <- ask() }()
		select {
		case err := <-answered:
			assert.NoError(t, err, name)
		case <-time.After(waitLimit / 2): // longer than any query takes without waiting
			t.Errorf("%s waits for the writer", name)
		}
	}
	close(let)
	require.NoError(t, <-done)
	b.recorder.mu.Lock()
	b.recorder.rate = writeRate{since: time.Now()}
	b.recorder.mu.Unlock()
	// Without load, a query waits for the newest call.
	b.Recorder().Record(aCall(200), aReply)
	got, _, err := b.Calls(t.Context(), Query{Limit: 1})
	assert.Truef(t, err == nil && len(got) == 1 && got[0].ID == aCall(200).ID, "the newest call is %v, %v", got, err)
}

// TestPruningTerminatesDuringRecording records more calls than pruning leaves: pruning ignores
// calls that are recorded in the meantime, so it ends. The test is not parallel because it keeps a
// processor busy. It waits for the disk, so that a slow machine does not have more calls to write.
func TestPruningTerminatesDuringRecording(t *testing.T) {
	calls := 500
	if raceDetectorEnabled { // each step waits for two batches
		calls = 150
	}
	b := fresh(t)
	record(t, b, 0, calls)
	flushed(t, b)
	ended := make(chan int64, 1)
	go func() {
		n, err := b.Prune(t.Context(), RetentionLimits{Age: -1, Bytes: 1, Rows: 10}) // every call is beyond one byte
		assert.NoError(t, err)
		ended <- n
	}()
	deadline := time.After(4 * waitLimit)
	for n := calls; ; {
		select {
		case pruned := <-ended:
			if pruned < int64(calls-10) || pruned > int64(calls) {
				t.Errorf("%d calls were pruned of the %d that were there at first; %d came meanwhile", pruned, calls, n-calls)
			}
			return
		case <-deadline:
			t.Fatal("pruning does not end")
		default:
		}
		if n == calls && rows(t, b) == calls {
			continue // pruning has not begun
		}
		for range 2 * firstPruneRows { // more than a step deletes
			b.Recorder().Record(aCall(n), aReply)
			n++
		}
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		b.Recorder().Flush(ctx)
		cancel()
	}
}

func rows(t *testing.T, b *testStore) (n int) {
	t.Helper()
	if err := b.withHandle(func(h *handle) error {
		return h.read.QueryRow(`SELECT count(*) FROM call`).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPruningYieldsToRecording prunes in steps while calls are recorded between them.
func TestPruningYieldsToRecording(t *testing.T) {
	const kept = 500
	b, calls := fresh(t), 3000
	if raceDetectorEnabled {
		calls = 1200
	}
	record(t, b, 0, calls)
	flushed(t, b)
	pruned := make(chan int64, 1)
	go func() {
		n, err := b.Prune(t.Context(), RetentionLimits{Age: -1, Bytes: -1, Rows: kept})
		assert.NoError(t, err)
		pruned <- n
	}()
	worst := time.Duration(0)
	n, between := 0, 0 // calls recorded, and those after which pruning had begun and had not ended
	for ; len(pruned) == 0; n++ {
		began := time.Now()
		b.Recorder().Record(aCall(10_000+n), aReply)
		flushed(t, b)
		worst = max(worst, time.Since(began))
		if old := rows(t, b) - n - 1; old > kept && old < calls {
			between++
		}
	}
	assert.Truef(t, between >= 2, "of %d calls, %d were on disk before the last step", n, between)
	t.Logf("%d calls recorded while %d were pruned; the slowest was on disk after %s", n, <-pruned, worst)
	if err := b.withHandle(func(h *handle) error {
		var orphans int
		err := h.read.QueryRow(`SELECT count(*) FROM body WHERE id NOT IN (SELECT id FROM call)`).Scan(&orphans)
		assert.Equal(t, 0, orphans)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	requireIntegrity(t, b)
}
