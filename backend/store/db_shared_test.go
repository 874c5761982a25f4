package store

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTwoProcessesOnOneDatabaseLoseNothing writes to one file with two recorders, as after the lock
// file of a running program was deleted.
func TestTwoProcessesOnOneDatabaseLoseNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	first, second := open(t, path), open(t, path)
	const each = 2000
	done := make(chan struct{}, 2)
	for which, b := range []*testStore{first, second} {
		go func() {
			for n := range each {
				b.Recorder().Record(aCall(2*n+which), aReply)
			}
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	waitUntilRecording(t, first)
	waitUntilRecording(t, second)
	dropped := first.Recorder().Stats().Dropped + second.Recorder().Stats().Dropped
	assert.Equal(t, 2*each-int(dropped), count(t, first))
	second.stop()
	requireIntegrity(t, first)
}

// TestLongReaderDoesNotGrowWALWithoutBound leaves a query open while calls are written: the query
// times out, and the WAL is checkpointed.
func TestLongReaderDoesNotGrowWALWithoutBound(t *testing.T) {
	t.Parallel()
	o := Options{Path: filepath.Join(t.TempDir(), "history.db"), Now: time.Now}
	b := openTimed(t, o, storeTimeouts{flush: waitLimit, read: 2 * time.Second})
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
	select {
	case <-began:
	case err := <-held:
		t.Fatalf("the query has not begun: %v", err)
	}
	big := core.Reply{Result: []byte(`"` + strings.Repeat("é1", 500) + `"`)}
	for n := range 3000 {
		b.Recorder().Record(aCall(1000+n), big)
	}
	<-held
	waitUntilRecording(t, b)
	err := b.withHandle(func(h *handle) error {
		var busy, pages, folded int
		if err := h.write.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, &pages, &folded); err != nil {
			return err
		}
		assert.Equal(t, 0, busy, "somebody still holds on to the log of changes")
		return nil
	})
	require.NoError(t, err)
	info, err := os.Stat(b.path + "-wal")
	assert.Truef(t, err == nil && info.Size() == 0, "the log of changes is %v, %v", info, err)
}
