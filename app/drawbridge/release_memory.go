package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// growHeapAtStart lets the heap grow to 16 MB before the first collection while the program
// starts: nothing of that is garbage for long, and others wait for the processor. Who sends
// much in that second gets no more than startRoom of it.
func growHeapAtStart() {
	if os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(400)
	limit := int64(-1) // leaves it as it is
	if os.Getenv("GOMEMLIMIT") == "" {
		limit = debug.SetMemoryLimit(startRoom)
	}
	time.AfterFunc(time.Second, func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(limit)
	})
}

// startRoom is what the program may hold while it starts before it collects as ever.
const startRoom = 48 << 20

// When memory is given back: once the start is over, and after each while without a
// call. What goes on in a quiet program, looking at its servers above all, takes some
// megabytes in a minute before the collector would look.
const (
	trimAfterStart = 3 * time.Second
	trimAfterCalls = 30 * time.Second
)

// releaseMemoryWhenIdle gives memory back that nothing needs while nothing happens. A tray
// program is idle most of the day. last grows with each call.
func releaseMemoryWhenIdle(ctx context.Context, last func() int64, trim func()) error {
	tick := time.NewTimer(trimAfterStart)
	defer tick.Stop()
	seen := last()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := last()
		if now == seen { // else: wait for a whole quiet while
			trim()
		}
		seen = now
		tick.Reset(trimAfterCalls)
	}
}
