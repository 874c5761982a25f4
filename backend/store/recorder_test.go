package store

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestProgressIsStoredWithoutSecrets(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	defer b.stop()
	b.Recorder().SetCeiling(map[string]RecordLevel{"quiet": KeepMeta}, nil)
	for i, server := range []string{"files", "quiet", "files"} {
		c := aCall(i)
		if c.Server = server; i < 2 {
			c.ProgressLog = []core.ProgressNotification{
				{AfterMs: 5, Params: []byte(`{"progress":1.0, "message":"<a>"}`)},
				{AfterMs: 9, Params: []byte(`{"progress":2,"message":"token=ghp_cnry17A1b2C3d4E5f6G7h8I9j0"}`)},
			}
		}
		b.Recorder().Record(c, aReply)
	}
	flushed(t, b)
	got, err := b.Call(t.Context(), aCall(0).ID)
	if err != nil || len(got.ProgressLog) != 2 || got.ProgressLog[0].AfterMs != 5 || string(got.ProgressLog[0].Params) != `{"progress":1.0,"message":"<a>"}` ||
		got.ProgressLog[1].AfterMs != 9 || strings.Contains(string(got.ProgressLog[1].Params), "ghp_") || !strings.Contains(string(got.ProgressLog[1].Params), redact.Mark) {
		t.Errorf("%+v, %v", got.ProgressLog, err)
	}
	for _, i := range []int{1, 2} {
		if got, err := b.Call(t.Context(), aCall(i).ID); err != nil || got.ProgressLog != nil {
			t.Errorf("call %d: %+v, %v", i, got.ProgressLog, err)
		}
	}
	assert.Equal(t, 0, b.recorder.bytes)
	_, err = b.Erase(t.Context(), Selection{IDs: []int64{aCall(0).ID}})
	require.NoError(t, err)
	var rows int
	_, err = b.queryRow(t.Context(), []any{&rows}, `SELECT count(*) FROM progress_log`)
	assert.Truef(t, err == nil && rows == 0, "%d rows are left, %v", rows, err)
}

func TestStackIsStoredCutAndRedacted(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	c := aCall(1)
	c.Stack = "goroutine 7: token=ghp_cnry17A1b2C3d4E5f6G7h8I9j0\n" + strings.Repeat("é", MaxStack)
	b.Recorder().Record(c, core.Reply{})
	b.Recorder().Record(aCall(2), core.Reply{})
	got, err := b.Call(t.Context(), c.ID)
	if err != nil || utf8.RuneCountInString(got.Stack) != MaxStack || !strings.HasPrefix(got.Stack, "goroutine 7") || strings.Contains(got.Stack, "ghp_") {
		t.Fatalf("a stack came back with %d characters, %.80q, %v", utf8.RuneCountInString(got.Stack), got.Stack, err)
	}
	if other, err := b.Call(t.Context(), aCall(2).ID); err != nil || other.Stack != "" {
		t.Errorf("another call has the stack %.80q, %v", other.Stack, err)
	}
	_, err = b.Erase(t.Context(), Selection{IDs: []int64{c.ID}})
	require.NoError(t, err)
	data, err := os.ReadFile(b.path)
	assert.Truef(t, err == nil && !bytes.Contains(data, []byte("goroutine 7")), "an erased stack stays in the file, %v", err)
}

// TestCallsAfterClockStepBackAreFoundByTime sets back a clock that was two days ahead: the ids of
// later calls continue from the newest id.
func TestCallsAfterClockStepBackAreFoundByTime(t *testing.T) {
	t.Parallel()
	now := aCall(0).At.Add(time.Hour)
	path := filepath.Join(t.TempDir(), "history.db")
	b := openAt(t, path, func() time.Time { return now })
	day := 24 * time.Hour
	last := int64(0)
	made := func(at time.Time) int64 {
		c := aCall(0)
		c.At = at
		c.ID = max(at.UnixMicro(), last+1)
		last = c.ID
		b.Recorder().Record(c, aReply)
		return c.ID
	}
	before := made(now.Add(-40 * time.Minute))
	ahead := made(now.Add(2 * day))
	first, second := made(now.Add(-30*time.Minute)), made(now.Add(-10*time.Minute))
	indexed(t, b)
	look := func(when string) {
		t.Helper()
		for name, c := range map[string]struct {
			from, to time.Duration
			want     []int64
		}{
			"an hour ago until now": {-time.Hour, 0, []int64{second, first, before}},
			"until 20 minutes ago":  {-time.Hour, -20 * time.Minute, []int64{first, before}},
			"the last 20 minutes":   {-20 * time.Minute, 0, []int64{second}},
			"the day ahead":         {day, 3 * day, []int64{ahead}},
		} {
			for _, text := range []string{"", "echo"} {
				q := Query{From: now.Add(c.from), To: now.Add(c.to), Text: text}
				calls, _, err := b.Calls(t.Context(), q)
				var got []int64
				for _, one := range calls {
					got = append(got, one.ID)
				}
				assert.NoErrorf(t, err, "%s, %s, text %q", when, name, text)
				assert.Equalf(t, c.want, got, "%s, %s, text %q", when, name, text)
			}
		}
	}
	look("as recorded")
	b.stop()
	b = openAt(t, path, func() time.Time { return now })
	look("after a start")
	if said, err := b.RetentionPreview(t.Context(), RetentionLimits{Age: 20 * time.Minute, Bytes: -1}); err != nil || said.Calls != 2 {
		t.Errorf("%+v, %v are said to be older than 20 minutes", said, err)
	}
	if n, err := b.Prune(t.Context(), RetentionLimits{Age: 20 * time.Minute, Bytes: -1}); err != nil || n != 2 {
		t.Errorf("%d calls older than 20 minutes went, %v", n, err)
	}
	calls, _, err := b.Calls(t.Context(), Query{})
	assert.Truef(t, err == nil && len(calls) == 2 && calls[0].ID == second && calls[1].ID == ahead, "left are %+v, %v", calls, err)
}

// TestCallsAreRecordedDuringRetention prunes in about fifty steps, of up to maxPruneRows calls.
func TestCallsAreRecordedDuringRetention(t *testing.T) {
	t.Parallel()
	s, err := Open(context.Background(), Options{Path: filepath.Join(t.TempDir(), "history.db"), Keep: RetentionLimits{Age: -1, Bytes: -1, Rows: 10}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	const batches = 20
	for n := range batches {
		require.NoError(t, s.write(t.Context(), aBatch(n*batchRows, "s1")))
	}
	s.timeouts.retention = 10 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Recorder().Run(ctx) }()
	defer func() { cancel(); <-done }()
	rows := func() (n int) {
		require.NoError(t, s.h.read.QueryRow(`SELECT count(*) FROM call`).Scan(&n))
		return n
	}
	eventually.True(t, "the first step", func() bool { return rows() < batches*batchRows })
	s.Recorder().Record(aCall(batches*batchRows), aReply)
	eventually.True(t, "a call on disk", func() bool { n, _ := s.Recorder().progress(); return n > 0 })
	assert.True(t, rows() > 10+1, "a call waited until all steps were done")
}
