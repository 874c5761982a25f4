//go:build !windows

// Windows lets no other program remove, move or replace a file that is open.

package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRemovedDatabaseIsRecreatedAtRuntime removes the history in several ways. Every call that ends
// after the removal is in the new file, and the user is notified.
func TestRemovedDatabaseIsRecreatedAtRuntime(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(path string) error{
		"file":            os.Remove,
		"file and log":    func(path string) error { removeFiles(path); return nil },
		"moved elsewhere": func(path string) error { return os.Rename(path, path+".old") },
		"folder":          func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "data", "history.db")
			b := open(t, path)
			record(t, b, 0, 10)
			count(t, b)
			want := RecordingSettings{Rules: []Rule{{Server: "private", Keep: KeepNothing}}}
			require.NoError(t, b.SaveRecording(t.Context(), want))
			require.NoError(t, remove(path))
			record(t, b, 10, 5)
			flushed(t, b)
			assert.Equal(t, 5, count(t, b))
			assert.EqualValues(t, 1, b.ReplaceCount(), "the file was replaced")
			st := b.Recorder().Stats()
			assert.Truef(t, st.State == "recording" && st.Dropped == 0 && strings.Contains(st.Reason, "history file was removed"), "the recorder is at %+v", st)
			said := b.sentences()
			assert.Truef(t, len(said) == 1 && strings.Contains(said[0], "history file was removed"), "the user was told %q", said)
			b.stop()
			again := open(t, path)
			assert.Equal(t, 5, count(t, again), "after a restart")
			got := again.Recording().Rules
			assert.Truef(t, len(got) == 1 && got[0] == want.Rules[0], "after a restart the recording rules are %+v", got)
			requireIntegrity(t, again)
		})
	}
}

// TestLateCallsSurviveFileReplacement moves the file without its WAL: calls that were recorded
// before are in the moved file.
func TestLateCallsSurviveFileReplacement(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 10)
	count(t, b)
	moved := filepath.Join(t.TempDir(), "moved.db")
	require.NoError(t, os.Rename(b.path, moved))
	record(t, b, 10, 5)
	flushed(t, b)
	assert.Equal(t, 5, count(t, b))
	assert.Equal(t, 10, count(t, open(t, moved)))
	requireIntegrity(t, b)
}

// TestReplacedDatabaseIsUsedAtRuntime moves another history over the open one.
func TestReplacedDatabaseIsUsedAtRuntime(t *testing.T) {
	t.Parallel()
	copied := filepath.Join(t.TempDir(), "copy.db")
	b := fresh(t)
	record(t, b, 0, 10)
	flushed(t, b)
	require.NoError(t, b.Backup(t.Context(), copied))
	record(t, b, 10, 20)
	flushed(t, b)
	require.NoError(t, os.Rename(copied, b.path))
	record(t, b, 30, 5)
	flushed(t, b)
	assert.Equal(t, 15, count(t, b))
	said := b.sentences()
	assert.Truef(t, len(said) == 1 && strings.Contains(said[0], "history file was replaced"), "the user was told %q", said)
	requireIntegrity(t, b)
}

// TestRemovedWALLosesNoCall removes only history.db-wal.
func TestRemovedWALLosesNoCall(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 10)
	flushed(t, b)
	require.NoError(t, os.Remove(b.path+"-wal"))
	record(t, b, 10, 5)
	flushed(t, b)
	b.stop()
	again := open(t, b.path)
	if n := count(t, again); n != 15 || b.ReplaceCount() != 0 {
		t.Errorf("%d of 15 calls are there, replaced %d times", n, b.ReplaceCount())
	}
	requireIntegrity(t, again)
}

// TestRecordingPausesWhenDatabaseCannotBeRecreated: calls stay queued until a new file can be
// created.
func TestRecordingPausesWhenDatabaseCannotBeRecreated(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	b := open(t, filepath.Join(dir, "history.db"))
	record(t, b, 0, 1)
	flushed(t, b)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600))
	record(t, b, 1, 3)
	waitUntilPaused(t, b, "cannot write the history")
	require.NoError(t, os.Remove(dir))
	waitUntilRecording(t, b)
	assert.Equal(t, 3, count(t, b))
}
