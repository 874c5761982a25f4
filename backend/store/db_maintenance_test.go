package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		require.NoError(t, err)
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
	require.NoError(t, b.ReleaseMemory(t.Context()))
	after := cache()
	assert.Truef(t, after <= before/4, "the cache takes %d bytes, %d before", after, before)
	r := b.Recorder()
	r.mu.Lock()
	require.Nil(t, r.queue, "the empty queue has room")
	require.Nil(t, r.batch, "the empty queue has room")
	r.mu.Unlock()
	record(2000)
	size, err := b.Size(t.Context())
	assert.Truef(t, err == nil && size.Calls == 4000, "%d calls, %v", size.Calls, err)
}

// The statements of a batch are parsed once for the connection, not for each batch.
func TestStatementsOfBatchesStayPrepared(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), "history.db"))
	for i := range 2 {
		b.Recorder().Record(aCall(i), aReply)
		b.Recorder().Flush(t.Context())
	}
	require.NoError(t, b.withHandle(func(h *handle) error {
		tx, err := h.beginCalls(t.Context())
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		assert.NotEmpty(t, tx.statements.kept, "no statement is kept")
		return nil
	}))
}

// TestRestoreKeepsReplacedHistory restores over a history that was not closed, whose WAL must not
// be applied to the backup.
func TestRestoreKeepsReplacedHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	copied, path := filepath.Join(dir, "copy.db"), filepath.Join(dir, "data", "history.db")
	b := open(t, path)
	record(t, b, 0, 300)
	indexed(t, b)
	require.NoError(t, b.Backup(t.Context(), copied))
	before, err := os.ReadFile(copied)
	require.NoError(t, err)
	record(t, b, 300, 300)
	flushed(t, b)
	for _, suffix := range databaseSuffixes { // copied while open, as after a kill
		data, err := os.ReadFile(path + suffix)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "killed"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "killed", "history.db"+suffix), data, 0o600))
	}
	b.stop()
	path = filepath.Join(dir, "killed", "history.db")
	aside, err := Restore(t.Context(), copied, path, time.Now())
	require.NoError(t, err)
	b = open(t, path)
	assert.Equal(t, 300, count(t, b))
	got, _, err := b.Calls(t.Context(), Query{Text: "echo", Limit: 500})
	assert.Truef(t, err == nil && len(got) == 300, "search finds %d of 300, %v", len(got), err)
	requireIntegrity(t, b)
	b.stop()
	assert.Equal(t, 600, count(t, open(t, aside)), "what was there")
	after, err := os.ReadFile(copied)
	assert.Truef(t, err == nil && bytes.Equal(before, after), "the copy was changed, %v", err)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("the history is %v, %v", info.Mode(), err)
	}
}

func TestCorruptBackupIsNotRestored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	b := open(t, path)
	record(t, b, 0, 200)
	flushed(t, b)
	sound := filepath.Join(dir, "sound.db")
	require.NoError(t, b.Backup(t.Context(), sound))
	b.stop()
	good, err := os.ReadFile(sound)
	require.NoError(t, err)
	write := func(name string, data []byte) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return file
	}
	torn := bytes.Clone(good)
	for at := 5 * 4096; at < len(torn); at += 4096 {
		copy(torn[at:], strings.Repeat("\xff\x07", 2048))
	}
	newer := write("newer.db", good)
	b = open(t, newer)
	require.NoError(t, b.exec(t.Context(), `PRAGMA user_version = 99`))
	b.stop()
	unreleased := write("unreleased.db", good)
	db := otherProgram(t, unreleased, "immediate")
	_, err = db.Exec(`PRAGMA user_version = 0`)
	require.NoError(t, errors.Join(err, db.Close()))
	was, err := os.ReadFile(path)
	require.NoError(t, err)
	for file, want := range map[string]string{
		write("text", []byte("no database at all")): "is not a Drawbridge history",
		write("empty", nil):                         "is not a Drawbridge history",
		write("half.db", good[:len(good)/2]):        "",
		write("torn.db", torn):                      "",
		newer:                                       "newer",
		unreleased:                                  "was written by an unreleased build",
		filepath.Join(dir, "nowhere"):               "cannot read the backup",
		path:                                        "the history itself",
		dir:                                         "",
	} {
		_, err := Restore(t.Context(), file, path, time.Now())
		require.Equal(t, core.CodeValidation, core.CodeOf(err))
		require.Contains(t, err.Error(), want)
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(was, now) {
			t.Fatalf("%s: the history was changed, %v", filepath.Base(file), err)
		}
	}
	for _, suffix := range databaseSuffixes {
		_, err = os.Stat(path + ".new" + suffix)
		assert.Errorf(t, err, "%s is left over", path+".new"+suffix)
	}
}
