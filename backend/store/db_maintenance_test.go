package store

import (
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// The page cache that grew while calls were recorded is released, and the next calls are recorded
// as before.
func TestReleaseMemoryDropsPageCacheOfRecordedCalls(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	record := func(from int) {
		record(t, b, from, 2000)
		b.Recorder().Flush(t.Context())
	}
	cache := func() (bytes int) {
		t.Helper()
		conn, err := b.h.writeCalls.Conn(t.Context())
		must(t, err)
		defer func() { _ = conn.Close() }()
		if err := conn.Raw(func(c any) (err error) {
			bytes, _, err = c.(sqlite.DBStatus).Status(sqlite.DBStatusCacheUsed, false)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return bytes
	}
	record(0)
	before := cache()
	must(t, b.ReleaseMemory(t.Context()))
	if after := cache(); after > before/4 {
		t.Errorf("the cache takes %d bytes, %d before", after, before)
	}
	r := b.Recorder()
	r.mu.Lock()
	if r.queue != nil || r.batch != nil {
		t.Errorf("the empty queue has room for %d calls, the batch for %d", cap(r.queue), cap(r.batch))
	}
	r.mu.Unlock()
	record(2000)
	if size, err := b.Size(t.Context()); err != nil || size.Calls != 4000 {
		t.Errorf("%d calls, %v", size.Calls, err)
	}
}

// The statements of a batch are parsed once for the connection, not for each batch.
func TestStatementsOfBatchesStayPrepared(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	for i := range 2 {
		b.Recorder().Record(aCall(i), aReply)
		b.Recorder().Flush(t.Context())
	}
	must(t, b.withHandle(func(h *handle) error {
		tx, err := h.beginCalls(t.Context())
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if len(tx.statements.kept) == 0 {
			t.Error("no statement is kept")
		}
		return nil
	}))
}
