package store

import (
	"path/filepath"
	"testing"
	"time"
)

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
		if err != nil || said.About || said.Calls != int64(c.first) {
			t.Errorf("%s: %+v, %v; want %d", name, said, err, c.first)
		}
		if c.first > 0 && (!said.From.Equal(aCall(0).At) || !said.To.Equal(aCall(c.first-1).At)) {
			t.Errorf("%s: from %s to %s", name, said.From, said.To)
		}
	}
	k := RetentionLimits{Age: now.Sub(aCall(100).At), Bytes: -1}
	if gone, err := b.Prune(t.Context(), k); err != nil || gone != 100 {
		t.Errorf("%d were deleted, %v", gone, err)
	}
	if said, err := b.RetentionPreview(t.Context(), k); err != nil || said.Calls != 0 || !said.From.IsZero() {
		t.Errorf("afterwards %+v, %v", said, err)
	}
}

func TestRetentionPreviewBySizeIsMarkedEstimate(t *testing.T) {
	t.Parallel()
	b := fresh(t)
	record(t, b, 0, 2000)
	b.Recorder().Flush(t.Context())
	size, err := b.Size(t.Context())
	must(t, err)
	// Payloads are packed meanwhile, which may halve what is used.
	said, err := b.RetentionPreview(t.Context(), RetentionLimits{Age: -1, Bytes: (size.Bytes - size.FreeBytes) / 16})
	if err != nil || !said.About || said.Calls < 500 || said.Calls >= 2000 {
		t.Errorf("%+v, %v of 2000 calls when a sixteenth of the space stays", said, err)
	}
	if said, err := b.RetentionPreview(t.Context(), RetentionLimits{Age: -1, Bytes: size.Bytes * 2}); err != nil || said.Calls != 0 || said.About {
		t.Errorf("within the bound: %+v, %v", said, err)
	}
}
