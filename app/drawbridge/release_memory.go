package main

import (
	"context"
	"os"
	"runtime/debug"
	"time"
)

// growHeapAtStart lets the heap grow to 16 MB before the first garbage collection, because little
// of what the start allocates is garbage. The memory limit startMemoryLimit bounds this if requests
// allocate much meanwhile.
func growHeapAtStart() {
	if os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(400)
	limit := int64(-1) // does not change the limit
	if os.Getenv("GOMEMLIMIT") == "" {
		limit = debug.SetMemoryLimit(startMemoryLimit)
	}
	time.AfterFunc(time.Second, func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(limit)
	})
}

// startMemoryLimit is the memory limit during the start.
const startMemoryLimit = 48 << 20

// When memory is released: after the start, but not before the saved checks were read (3 s after the
// servers started; this query alone reads 8 MB of the program file), and after each period without a
// call. The background work of an idle program, mostly pings of servers, allocates some megabytes per
// minute before the garbage collector would run.
const (
	trimAfterStart = 4 * time.Second
	trimAfterCalls = 30 * time.Second
)

// releaseMemoryWhenIdle releases unused memory when no calls are made, which is most of the day.
// last returns the id of the newest call.
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
		if now == seen { // otherwise wait for a full period without calls
			trim()
		}
		seen = now
		tick.Reset(trimAfterCalls)
	}
}
