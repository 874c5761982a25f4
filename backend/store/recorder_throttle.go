package store

import (
	"time"
)

// writeThrottle lets work on the history pause for a limited total time, so that clients that wait
// for a reply can run. On a machine with one processor, a batch takes as long as dozens of calls,
// which would otherwise all wait for its end.
type writeThrottle struct {
	mayPause  func() bool // reports whether a pause is acceptable now
	remaining time.Duration
	resumed   time.Time // end of the last pause
}

const (
	// maxPauses bounds the total duration of the pauses of a batch; a step of the indexer uses half
	// of it. A timer that fires late counts with its actual duration. A call must be on disk within
	// 100 ms, of which it may wait 50 ms for its batch to fill, and for the previous batch.
	maxPauses = 20 * time.Millisecond
	minWork   = 100 * time.Microsecond // between two pauses: half of what a call takes
	maxPause  = time.Millisecond
)

// pause sleeps for as long as the work took since the last pause, unless that is not worth it, the
// limit is used up or the load is too high.
func (b *writeThrottle) pause() {
	began := time.Now()
	used := began.Sub(b.resumed)
	if used < minWork || b.remaining <= 0 || !b.mayPause() {
		return
	}
	time.Sleep(min(used, maxPause))
	b.resumed = time.Now()
	b.remaining -= b.resumed.Sub(began)
}
