package store

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	aDay   = 24 * time.Hour
	aMonth = 30 * aDay
)

// TestClockFarAheadDeletesNothing until it has continued for a day, in which it may be corrected.
func TestClockFarAheadDeletesNothing(t *testing.T) {
	t.Parallel()
	right := aCall(0).At
	var ahead atomic.Int64 // read concurrently by the indexer
	clock := func() time.Time { return right.Add(time.Duration(ahead.Load())) }
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), clock)
	b.SetRetentionLimits(RetentionLimits{Age: aMonth, Bytes: -1})
	record(t, b, 0, 100)
	flushed(t, b)
	left := func(when string, want int) {
		t.Helper()
		b.enforceRetention(t.Context())
		require.Equal(t, want, count(t, b), when)
	}
	u := func() int64 {
		t.Helper()
		u, err := b.Usage(t.Context(), UsageQuery{From: aCall(0).At.Add(-aDay), To: aCall(0).At.Add(aDay)})
		require.NoError(t, err)
		return u.Total.Calls
	}
	left("with a clock that is right", 100)
	ahead.Store(int64(9 * 365 * aDay))
	left("nine years ahead", 100)
	h := b.HeldCalls()
	assert.Truef(t, h != nil && h.Calls == 100 && h.All && h.From.Equal(right) && h.Until.Equal(clock().Add(aDay)), "what is held is %+v", h)
	assert.EqualValues(t, 100, u(), "the sums have")
	for range 23 { // it continues from there
		ahead.Add(int64(time.Hour))
		left("hours later", 100)
	}
	ahead.Store(int64(time.Hour))
	left("set right again", 100)
	assert.Nil(t, b.HeldCalls(), "with a clock that is right")
	ahead.Store(int64(9 * 365 * aDay))
	for range 23 {
		left("ahead once more", 100)
		ahead.Add(int64(time.Hour))
	}
	ahead.Add(int64(9 * 365 * aDay))
	left("and further", 100)
	for range 23 {
		ahead.Add(int64(time.Hour))
		left("and going on from there", 100)
	}
	ahead.Add(int64(time.Hour))
	left("a day long", 0)
	assert.Nil(t, b.HeldCalls(), "what is gone is held")
}

// TestClockStepIsRememberedAcrossRuns: restarts do not prolong the day.
func TestClockStepIsRememberedAcrossRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.db")
	now := aCall(0).At
	run := func() (left int) {
		b := openAt(t, path, func() time.Time { return now })
		defer b.stop()
		b.SetRetentionLimits(RetentionLimits{Age: aMonth, Bytes: -1})
		if left = count(t, b); left == 0 {
			record(t, b, 0, 10)
			flushed(t, b)
		}
		b.enforceRetention(t.Context())
		return count(t, b)
	}
	require.Equal(t, 10, run())
	now = now.Add(40 * aDay)
	for range 5 {
		require.Equal(t, 10, run())
		now = now.Add(5 * time.Hour)
	}
	assert.Equal(t, 0, run())
}

// TestCallsExpireByAge: an advance of hours or a weekend and a clock that is set back are not jumps.
// After a second jump, the clock must again continue for a day.
func TestCallsExpireByAge(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, steps := range map[string][]time.Duration{
		"hour by hour":     {time.Hour, time.Hour, time.Hour},
		"over a weekend":   {64 * time.Hour, time.Minute},
		"after a set back": {-9 * 365 * aDay, time.Hour},
	} {
		c, now := clockSkew{}, start
		c.check(now, aMonth)
		for i, step := range steps {
			now = now.Add(step)
			if c.check(now, aMonth); !c.JumpedAt.IsZero() {
				t.Errorf("%s, step %d: the clock is not trusted at %s", name, i, now)
			}
		}
	}
	c := clockSkew{}
	c.check(start, aMonth)
	c.check(start.Add(9*365*aDay), aMonth)
	now := start.Add(5 * 365 * aDay) // less far ahead
	for range 24 {
		if c.check(now, aMonth); c.JumpedAt.IsZero() {
			t.Fatalf("the clock is trusted at %s", now)
		}
		now = now.Add(time.Hour)
	}
	if c.check(now, aMonth); !c.JumpedAt.IsZero() {
		t.Error("the clock is not trusted a day after the jump")
	}
	for age, jump := range map[time.Duration]time.Duration{aMonth: maxJumpLimit, aDay: minJumpLimit, 8 * aDay: 2 * aDay, -1: minJumpLimit} {
		for advance, jumps := range map[time.Duration]bool{jump: false, jump + 1: true} {
			c := clockSkew{}
			c.check(start, age)
			if c.check(start.Add(advance), age); c.JumpedAt.IsZero() == jumps {
				t.Errorf("maximum age %s: an advance of %s is a jump: %t, want %t", age, advance, !jumps, jumps)
			}
		}
	}
}

func TestRetentionPreviewCountsWhatPruneDeletes(t *testing.T) {
	t.Parallel()
	const all = 400
	now := aCall(all).At.Add(time.Hour)
	b := openAt(t, filepath.Join(t.TempDir(), "history.db"), func() time.Time { return now })
	record(t, b, 0, all)
	b.Recorder().Flush(t.Context())
	for name, c := range map[string]struct {
		keep  RetentionLimits
		first int // number of the first call that stays
	}{
		"no bound":       {RetentionLimits{Age: -1, Bytes: -1}, 0},
		"none is so old": {RetentionLimits{Age: 2 * time.Hour, Bytes: -1}, 0},
		"by age":         {RetentionLimits{Age: now.Sub(aCall(100).At), Bytes: -1}, 100},
		"by number":      {RetentionLimits{Age: -1, Bytes: -1, Rows: 250}, 150},
	} {
		said, err := b.RetentionPreview(t.Context(), c.keep)
		assert.Truef(t, err == nil && !said.About && said.Calls == int64(c.first), "%s: %+v, %v; want %d", name, said, err, c.first)
		assert.Falsef(t, c.first > 0 && (!said.From.Equal(aCall(0).At) || !said.To.Equal(aCall(c.first-1).At)), "%s: from %s to %s", name, said.From, said.To)
	}
	k := RetentionLimits{Age: now.Sub(aCall(100).At), Bytes: -1}
	gone, err := b.Prune(t.Context(), k)
	assert.Truef(t, err == nil && gone == 100, "%d were deleted, %v", gone, err)
	said, err := b.RetentionPreview(t.Context(), k)
	assert.Truef(t, err == nil && said.Calls == 0 && said.From.IsZero(), "afterwards %+v, %v", said, err)
}

func TestRetentionPreviewBySizeIsMarkedEstimate(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 2000)
	b.Recorder().Flush(t.Context())
	size, err := b.Size(t.Context())
	require.NoError(t, err)
	// Payloads are packed meanwhile, which may halve what is used.
	said, err := b.RetentionPreview(t.Context(), RetentionLimits{Age: -1, Bytes: (size.Bytes - size.FreeBytes) / 16})
	assert.Truef(t, err == nil && said.About && said.Calls >= 500 && said.Calls < 2000, "%+v, %v of 2000 calls when a sixteenth of the space stays", said, err)
	if said, err := b.RetentionPreview(t.Context(), RetentionLimits{Age: -1, Bytes: size.Bytes * 2}); err != nil || said.Calls != 0 || said.About {
		t.Errorf("within the bound: %+v, %v", said, err)
	}
}
