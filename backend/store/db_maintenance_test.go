package store

import (
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// The page cache that grew while calls were recorded is released, and the next calls are recorded as before.
func TestReleaseMemoryDropsPageCacheOfRecordedCalls(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	record := func(from int) {
		for i := range 2000 {
			b.Recorder().Record(aCall(from+i), aReply)
		}
		b.Recorder().Flush(t.Context())
	}
	cache := func() (bytes int) {
		t.Helper()
		conn, err := b.h.write.Conn(t.Context())
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
	record(2000)
	if size, err := b.Size(t.Context()); err != nil || size.Calls != 4000 {
		t.Errorf("%d calls, %v", size.Calls, err)
	}
}
