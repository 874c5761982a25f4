package main

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Soft limits of the memory that Go uses.
const (
	startMemoryLimit = 48 << 20  // during the start
	memoryLimit      = 180 << 20 // afterwards, see memoryLimitFor
)

// growHeapAtStart lets the heap grow to 16 MB before the first garbage collection, because little
// of what the start allocates is garbage. The memory limit startMemoryLimit bounds this if requests
// allocate much meanwhile.
func growHeapAtStart() {
	if os.Getenv("GOGC") != "" {
		return
	}
	before := debug.SetGCPercent(400)
	setMemoryLimit(startMemoryLimit)
	time.AfterFunc(time.Second, func() {
		debug.SetGCPercent(before)
		setMemoryLimit(memoryLimit)
	})
}

// setMemoryLimit sets the soft memory limit, unless the user sets it or when to collect garbage.
func setMemoryLimit(limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" && os.Getenv("GOGC") == "" {
		debug.SetMemoryLimit(limit)
	}
}

// memoryLimitFor returns the memory limit for a number of live bytes, and of bytes that are not part
// of the heap but count, such as stacks. Without a limit, the heap
// grows to twice the live bytes before they are collected: with large payloads in flight, to
// 390 MB instead of 230 MB. Live bytes near the limit raise it, because a heap that fits barely
// would be collected all the time.
func memoryLimitFor(live, other uint64) int64 { return max(memoryLimit, int64(live+live/4+other)) }

// usedBytes returns the bytes that the last garbage collection found in use, and the bytes outside
// of the heap.
func usedBytes() (live, other uint64) {
	list := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/total:bytes"}}
	for _, part := range []string{"objects", "unused", "free", "released"} {
		list = append(list, metrics.Sample{Name: "/memory/classes/heap/" + part + ":bytes"})
	}
	metrics.Read(list)
	other = list[1].Value.Uint64()
	for _, part := range list[2:] {
		other -= part.Value.Uint64()
	}
	return list[0].Value.Uint64(), other
}

// When memory is released: after the start, but not before the saved checks were read (3 s after the
// servers started; this query alone reads 8 MB of the program file), and after each period without a
// call. The background work of an idle program, mostly pings of servers, allocates some megabytes per
// minute before the garbage collector would run.
const (
	trimAfterStart = 4 * time.Second
	trimAfterCalls = 30 * time.Second
)

// releaseMemoryWhenIdle releases unused memory when no calls are made, which is most of the day, and
// adapts the memory limit. last returns the id of the newest call.
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
		setMemoryLimit(memoryLimitFor(usedBytes()))
		now := last()
		if now == seen { // otherwise wait for a full period without calls
			trim()
		}
		seen = now
		tick.Reset(trimAfterCalls)
	}
}
