package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// TestTwoProcessesOnOneDatabaseLoseNothing writes to one file with two recorders, as after the lock
// file of a running program was deleted.
func TestTwoProcessesOnOneDatabaseLoseNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	first, second := open(t, path), open(t, path)
	const each = 2000
	done := make(chan struct{}, 2)
	for which, b := range []*bench{first, second} {
		go func() {
			for n := range each {
				b.Recorder().Record(aCall(2*n+which), aReply)
			}
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	recordingAgain(t, first)
	recordingAgain(t, second)
	dropped := first.Recorder().Stats().Dropped + second.Recorder().Stats().Dropped
	if n := count(t, first); n != 2*each-int(dropped) {
		t.Errorf("%d of %d calls are there, %d were dropped for want of room", n, 2*each, dropped)
	}
	second.stop()
	sound(t, first)
}

// TestLongReaderDoesNotGrowWALWithoutBound leaves a query open while calls are written: the query
// times out, and the WAL is checkpointed.
func TestLongReaderDoesNotGrowWALWithoutBound(t *testing.T) {
	t.Parallel()
	o := Options{Path: filepath.Join(t.TempDir(), "history.db"), Now: time.Now}
	b := openTimed(t, o, storeTimeouts{flush: patient, read: 300 * time.Millisecond})
	record(t, b, 0, 500)
	flushed(t, b)
	held := make(chan error, 1)
	began := make(chan struct{})
	go func() {
		held <- b.query(t.Context(), func(ctx context.Context, h *handle) error {
			rows, err := h.read.QueryContext(ctx, `SELECT id FROM call`)
			if err != nil {
				return err
			}
			defer func() { _ = rows.Close() }()
			rows.Next()
			close(began)
			<-ctx.Done() // the rows are not read to the end
			return rows.Err()
		})
	}()
	<-began
	big := core.Reply{Result: []byte(`"` + strings.Repeat("é1", 500) + `"`)}
	for n := range 3000 {
		b.Recorder().Record(aCall(1000+n), big)
	}
	<-held
	recordingAgain(t, b)
	err := b.withHandle(func(h *handle) error {
		var busy, pages, folded int
		if err := h.write.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &folded); err != nil {
			return err
		}
		if busy != 0 {
			t.Error("somebody still holds on to the log of changes")
		}
		return nil
	})
	must(t, err)
	if info, err := os.Stat(b.path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the log of changes is %v, %v", info, err)
	}
}

// TestPruningYieldsToRecording prunes in steps while calls are recorded between them.
func TestPruningYieldsToRecording(t *testing.T) {
	b, calls := fresh(t), 3000
	if slow {
		calls = 1200
	}
	record(t, b, 0, calls)
	flushed(t, b)
	pruned := make(chan int64, 1)
	go func() {
		n, err := b.Prune(t.Context(), RetentionLimits{Age: -1, Bytes: -1, Rows: 500})
		if err != nil {
			t.Error(err)
		}
		pruned <- n
	}()
	worst := time.Duration(0)
	n := 0
	for ; len(pruned) == 0; n++ {
		began := time.Now()
		b.Recorder().Record(aCall(10_000+n), aReply)
		flushed(t, b)
		worst = max(worst, time.Since(began))
	}
	if worst > 5*time.Second {
		t.Errorf("a call waited %s for the disk", worst)
	}
	t.Logf("%d calls recorded while %d were pruned; the slowest was on disk after %s", n, <-pruned, worst)
	if err := b.withHandle(func(h *handle) error {
		var orphans int
		err := h.read.QueryRow(`SELECT count(*) FROM body WHERE id NOT IN (SELECT id FROM call)`).Scan(&orphans)
		if orphans != 0 {
			t.Errorf("%d payloads have no call", orphans)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	sound(t, b)
}

// A long payload is hashed completely, and truncated before it is queued: the queue is bounded by
// the truncated payloads.
func TestLongPayloadIsHashedAndTruncatedBeforeItIsQueued(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "history.db")})
	must(t, err)
	defer func() { _ = s.Close() }()
	r := s.Recorder() // its Run is not running yet
	c := aCall(0)
	c.Params = []byte(`{"name":"x","arguments":{"text":"` + strings.Repeat("a", 1<<20) + `"}}`)
	c.Arguments = core.Span{Start: 23, End: len(c.Params) - 1}
	arguments := sha256.Sum256(c.Params[c.Arguments.Start:c.Arguments.End])
	reply := core.Reply{Result: bytes.Repeat([]byte("x"), 1<<20)}
	result := sha256.Sum256(reply.Result)
	r.Record(c, reply)
	clear(c.Params) // Record retains neither
	clear(reply.Result)
	if r.bytes > 2*MaxField {
		t.Errorf("%d bytes are queued", r.bytes)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = r.Run(ctx) // writes the queue
	got, err := s.Call(t.Context(), c.ID)
	if err != nil || got.ReplyCut == nil || !bytes.Equal(got.ReplyCut.Hash, result[:]) || got.ReplyCut.Size != 1<<20 {
		t.Errorf("the result is %+v, %v", got.ReplyCut, err)
	}
	if cut := got.ArgumentsCut; cut == nil || !bytes.Equal(cut.Hash, arguments[:]) || cut.Size != c.Arguments.End-c.Arguments.Start {
		t.Errorf("the arguments are %+v", cut)
	}
}
