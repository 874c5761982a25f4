package store

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

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
				if err != nil || !slices.Equal(got, c.want) {
					t.Errorf("%s, %s, text %q: %v, %v, not %v", when, name, text, got, err, c.want)
				}
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
	if err != nil || len(calls) != 2 || calls[0].ID != second || calls[1].ID != ahead {
		t.Errorf("left are %+v, %v", calls, err)
	}
}
