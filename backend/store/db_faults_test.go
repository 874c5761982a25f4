package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// record records n calls. It would block forever if Record waited for a disk that cannot be
// written.
func record(t *testing.T, b *testStore, from, n int) {
	t.Helper()
	for i := range n {
		b.Recorder().Record(aCall(from+i), aReply)
	}
}

// waitUntilPaused waits until the recorder is paused and has notified the user with a reason that
// contains why.
func waitUntilPaused(t *testing.T, b *testStore, why string) {
	t.Helper()
	eventually.True(t, "paused: "+why, func() bool {
		st := b.Recorder().Stats()
		return st.State == "paused" && strings.Contains(st.Reason, why)
	})
	eventually.True(t, "told: "+why, func() bool { // notified shortly after
		said := b.sentences()
		return len(said) > 0 && strings.Contains(said[len(said)-1], why)
	})
}

func waitUntilRecording(t *testing.T, b *testStore) {
	t.Helper()
	var st Stats
	defer func() { // logs the state of a failed test
		if t.Failed() {
			t.Logf("the recorder is at %+v", st)
		}
	}()
	eventually.True(t, "recording again", func() bool {
		st = b.Recorder().Stats()
		return st.State == "recording" && st.Queued == 0
	})
}

// fill simulates a full disk: the database cannot get more pages.
func (b *testStore) fill(t *testing.T, full bool) {
	t.Helper()
	pages := `PRAGMA max_page_count = 1`
	if !full {
		pages = `PRAGMA max_page_count = 1000000`
	}
	err := b.withHandle(func(h *handle) error {
		_, err := h.write.Exec(pages)
		_, other := h.writeCalls.Exec(pages)
		return errors.Join(err, other)
	})
	require.NoError(t, err)
}

func TestFullDatabaseStopsNoCallAndRecordingResumes(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 100)
	count(t, b) // waits until they are written
	b.fill(t, true)
	big := core.Reply{Result: []byte(`"` + strings.Repeat("é1", 20000) + `"`)}
	for n := range 50 {
		b.Recorder().Record(aCall(1000+n), big)
	}
	waitUntilPaused(t, b, "full")
	if calls, _, err := b.Calls(t.Context(), Query{}); err != nil || len(calls) == 0 {
		t.Fatalf("what was recorded cannot be read: %d, %v", len(calls), err)
	}
	// The error of a change names the cause.
	err := b.SaveMetadata(t.Context(), "large", make([]byte, 100_000))
	assert.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "the disk is full"), "a change gives %v", err)
	record(t, b, 2000, 2*maxQueued)
	if st := b.Recorder().Stats(); st.Dropped == 0 || st.Queued > maxQueued {
		t.Fatalf("the queue has no end, or drops are not counted: %+v", st)
	}
	b.fill(t, false)
	waitUntilRecording(t, b)
	st := b.Recorder().Stats()
	assert.Equal(t, 100+50+2*maxQueued-int(st.Dropped), count(t, b))
	eventually.True(t, "told that it goes on", func() bool {
		said := b.sentences()
		return len(said) > 0 && said[len(said)-1] == ""
	})
	assert.Len(t, b.sentences(), 2, "the user was told")
}

func TestLockedDatabaseStopsNoCallAndRecordingResumes(t *testing.T) {
	t.Parallel()
	b := openWith(t, Options{Path: filepath.Join(t.TempDir(), "history.db"), Now: time.Now, busyTimeout: 100 * time.Millisecond})
	record(t, b, 0, 10)
	count(t, b)
	tx, err := otherProgram(t, b.path, "exclusive").BeginTx(context.Background(), nil)
	require.NoError(t, err)
	record(t, b, 10, 10)
	waitUntilPaused(t, b, "another program")
	st := b.Recorder().Stats()
	assert.Truef(t, st.Queued == 10 && st.Dropped == 0, "10 calls were recorded while the file was locked: %+v", st)
	require.NoError(t, tx.Rollback())
	waitUntilRecording(t, b)
	assert.Equal(t, 20, count(t, b))
}

func TestUnwritableFolderStopsNoCall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	blocked := filepath.Join(dir, "data")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil { // not even root can create a file below a file
		t.Fatal(err)
	}
	b := open(t, filepath.Join(blocked, "history.db"))
	record(t, b, 0, 10)
	waitUntilPaused(t, b, "cannot write the history")
	_, _, err := b.Calls(t.Context(), Query{})
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err), "a question")
	require.NoError(t, os.Remove(blocked))
	waitUntilRecording(t, b)
	assert.Equal(t, 10, count(t, b))
}

func TestCorruptDatabaseIsQuarantinedNotDeleted(t *testing.T) {
	t.Parallel()
	garbage := strings.Repeat("this is not a database. ", 1000)
	path := filepath.Join(t.TempDir(), "history.db")
	require.NoError(t, os.WriteFile(path, []byte(garbage), 0o600))
	b := open(t, path)
	record(t, b, 0, 10)
	require.Equal(t, 10, count(t, b))
	aside, err := filepath.Glob(path + ".damaged-*")
	require.NoError(t, err, "set aside")
	require.Len(t, aside, 1, "set aside")
	data, _ := os.ReadFile(aside[0])
	assert.Equal(t, garbage, string(data), "the damaged file was changed")
	assert.Contains(t, b.Recorder().Stats().Reason, "it was renamed to", "nobody is told")
}

func TestForeignFileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	for what, put := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.MkdirAll(filepath.Join(path, "inside"), 0o700) },
		"a link to a socket": func(path string) error { // instead of a device, which a failing test could damage
			target := filepath.Join(t.TempDir(), "s")
			l, err := net.Listen("unix", target)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
				err = os.Symlink(target, path)
			}
			return err
		},
		"a database with its own version": func(path string) error {
			db := otherProgram(t, path, "immediate")
			_, err := db.Exec(`CREATE TABLE photo (name); PRAGMA user_version = 1`)
			return errors.Join(err, db.Close())
		},
		"a database with a table call": func(path string) error {
			db := otherProgram(t, path, "immediate")
			_, err := db.Exec(`CREATE TABLE call (theirs TEXT); INSERT INTO call VALUES ('kept')`)
			return errors.Join(err, db.Close())
		},
	} {
		if what == "a link to a socket" && runtime.GOOS == "windows" {
			continue // it has no such files
		}
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "history.db")
			require.NoError(t, put(path))
			b := open(t, path)
			record(t, b, 0, 10)
			require.Equal(t, 10, count(t, b))
			aside, err := filepath.Glob(path + ".foreign-*")
			require.NoError(t, err)
			require.NotEmpty(t, aside)
			if what == "a database with a table call" {
				var theirs string
				if err := otherProgram(t, aside[0], "immediate").QueryRow(`SELECT theirs FROM call`).Scan(&theirs); err != nil || theirs != "kept" {
					t.Errorf("its content is %q, %v", theirs, err)
				}
			}
			assert.Contains(t, b.Recorder().Stats().Reason, "was not a Drawbridge history; it was renamed to", "nobody is told")
		})
	}
}

func TestDatabaseCorruptedAtRuntimeIsQuarantined(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	b := open(t, path)
	for n := range 500 {
		b.Recorder().Record(aCall(n), core.Reply{Result: []byte(`"` + strings.Repeat("x", 500) + `"`)})
	}
	b.stop()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	info, _ := f.Stat()
	for at := int64(8192); at < info.Size(); at += 4096 { // corrupts all pages except the first ones
		_, _ = f.WriteAt([]byte(strings.Repeat("\xff\x07", 2048)), at)
	}
	_ = f.Close()
	b = open(t, path)
	record(t, b, 5000, 100)
	waitUntilRecording(t, b)
	eventually.True(t, "a new file", func() bool {
		aside, _ := filepath.Glob(path + ".damaged-*")
		return len(aside) >= 1
	})
	record(t, b, 6000, 100)
	waitUntilRecording(t, b)
	eventually.True(t, "new calls in the new file", func() bool { return count(t, b) >= 100 })
	assert.NotEqualValues(t, 0, b.ReplaceCount(), "nobody can tell that the file was replaced")
}

// SQLite says after one failed read that the file is damaged.
func TestIntactHistoryIsKeptAfterFailedRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	b := open(t, path)
	record(t, b, 0, 10)
	count(t, b)
	b.mu.Lock()
	b.fault = faultDamaged
	b.mu.Unlock()
	require.Equal(t, faultNone, b.reopen(t.Context()))
	if n := count(t, b); n != 10 || b.ReplaceCount() != 0 {
		t.Errorf("%d of 10 calls are left, and the file was replaced %d times", n, b.ReplaceCount())
	}
}

func TestNewerSchemaIsLeftUntouched(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	b := open(t, path)
	record(t, b, 0, 10)
	count(t, b)
	require.NoError(t, b.exec(t.Context(), `PRAGMA user_version = 99`))
	b.stop()
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	b = open(t, path)
	record(t, b, 10, 10)
	eventually.True(t, "recording off", func() bool {
		st := b.Recorder().Stats()
		return st.State == "off" && strings.Contains(st.Reason, "newer") && st.Queued == 0 && st.Dropped == 10
	})
	b.stop()
	after, _ := os.ReadFile(path)
	for i := range min(len(before), len(after)) {
		if before[i] != after[i] {
			t.Errorf("a newer file was changed at byte %d: %d is now %d", i, before[i], after[i])
			break
		}
	}
	assert.Truef(t, len(before) == len(after), "a newer file had %d bytes and has %d", len(before), len(after))
}

func TestHistoryOfUnreleasedBuildIsSetAside(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	db := otherProgram(t, path, "immediate", "journal_mode(wal)")
	_, err := db.Exec(fmt.Sprintf(`PRAGMA application_id = %d; CREATE TABLE call (id INTEGER); CREATE TABLE schema_version (version_id, is_applied)`, applicationID))
	require.NoError(t, errors.Join(err, db.Close()))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	b := open(t, path)
	record(t, b, 0, 10)
	assert.Equal(t, 10, count(t, b))
	aside, err := filepath.Glob(path + ".unreleased-*Z")
	require.NoError(t, err)
	require.Len(t, aside, 1)
	after, err := os.ReadFile(aside[0])
	assert.Truef(t, err == nil && bytes.Equal(after, before), "its content has changed: %v", err)
	assert.Contains(t, b.Recorder().Stats().Reason, "was written by an unreleased build of Drawbridge; it was renamed to "+filepath.Base(aside[0]))
}

// Files as a process leaves them that is killed while it creates the tables.
func TestKilledCreationIsRepeated(t *testing.T) {
	t.Parallel()
	statements := strings.SplitAfter(schema, ";\n")
	for n := range statements {
		path := filepath.Join(t.TempDir(), "history.db")
		db := otherProgram(t, path, "immediate", "journal_mode(wal)", "cache_size(1)")
		db.SetMaxOpenConns(1)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.Exec(fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = 1; %s`, applicationID, strings.Join(statements[:n], "")))
		require.NoError(t, err)
		killed := filepath.Join(t.TempDir(), "history.db")
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(killed+suffix, data, 0o600))
		}
		require.NoError(t, errors.Join(tx.Rollback(), db.Close()))
		b := open(t, killed)
		record(t, b, 0, 1)
		assert.Equalf(t, 1, count(t, b), "after %d", n)
		b.stop()
	}
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	r := s.Recorder() // its Run is not running
	reply := core.Reply{Result: []byte(`"` + strings.Repeat("x", MaxField-2) + `"`)}
	for n := range 600 {
		r.Record(aCall(n), reply)
	}
	st := r.Stats()
	if r.bytes > maxBytes || st.Stripped == 0 || st.Dropped != 0 || st.Queued != 600 {
		t.Fatalf("%d bytes wait, %+v", r.bytes, st)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for err == nil && r.Stats().Queued > 0 { // more than once on a slow machine: an end does not wait for long
		err = r.Run(ctx)
	}
	require.NoError(t, err)
	got, err := s.Call(t.Context(), aCall(599).ID)
	if err != nil || got.Result != nil || got.ReplyCut == nil || got.ReplyCut.Size != MaxField {
		t.Fatalf("a call without its payload came back as %+v, %v", got, err)
	}
	if st := r.Stats(); st.Queued != 0 || r.bytes != 0 {
		t.Fatalf("after the flush %+v, %d bytes", st, r.bytes)
	}
}

func TestHistoryStaysWithinLimits(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(aCall(180).ID)
	s, err := Open(t.Context(), Options{
		Path: filepath.Join(t.TempDir(), "history.db"), Now: func() time.Time { return now },
		Keep: RetentionLimits{Age: 40 * time.Millisecond, Bytes: -1}, // there is one call per millisecond
	})
	require.NoError(t, err)
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for n := range 180 {
		s.Recorder().Record(aCall(n), aReply)
	}
	_ = s.Recorder().Run(ctx)
	s.enforceRetention(t.Context())
	calls, _, err := s.Calls(t.Context(), Query{Limit: 1, Before: aCall(141).ID})
	require.Truef(t, err == nil && len(calls) == 1 && calls[0].ID == aCall(140).ID, "the oldest that is kept is %v, %v", calls, err)
	if calls, _, _ := s.Calls(t.Context(), Query{Before: aCall(140).ID}); len(calls) != 0 {
		t.Errorf("%d calls are older than what is kept", len(calls))
	}
	var orphans int
	if err := s.withHandle(func(h *handle) error {
		return h.read.QueryRow(`SELECT count(*) FROM body WHERE id NOT IN (SELECT id FROM call)`).Scan(&orphans)
	}); err != nil || orphans != 0 {
		t.Errorf("%d payloads have no call, %v", orphans, err)
	}
	s.SetRetentionLimits(RetentionLimits{Age: -1, Bytes: 1})
	s.enforceRetention(t.Context())
	if calls, _, _ := s.Calls(t.Context(), Query{}); len(calls) != 0 {
		t.Errorf("%d calls are kept beyond the bytes", len(calls))
	}
}
