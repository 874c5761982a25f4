package store

import (
	"time"
)

// writeThrottle lets work that holds the write lock pause for a limited total time.
type writeThrottle struct {
	mayPause  func() bool // reports whether a pause is acceptable now
	remaining time.Duration
}

// maxPauses bounds the total duration of the pauses of a batch; a step of the indexer uses half of
// it. A timer that fires late counts with its actual duration. A call must be on disk within 100
// ms, of which it may wait 50 ms for its batch to fill, and for the previous batch.
const maxPauses = 20 * time.Millisecond

// pause calls yieldProcessor, unless the limit is used up or the load is too high. used is the
// time since the last pause.
func (b *writeThrottle) pause(used time.Duration) {
	if b.remaining <= 0 || !b.mayPause() {
		return
	}
	began := time.Now()
	yieldProcessor(used)
	b.remaining -= time.Since(began)
}

// yieldProcessor sleeps for about as long as the processor was used, so that clients that wait for
// a reply can run. On a machine with one processor, a batch takes as long as dozens of calls,
// which would otherwise all wait for its end.
func yieldProcessor(used time.Duration) {
	pause := time.NewTimer(min(max(used, 50*time.Microsecond), time.Millisecond))
	<-pause.C
}
