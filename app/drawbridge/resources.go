package main

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// adaptiveGOMAXPROCS sets GOMAXPROCS by the load. A call passes through four goroutines, one
// after the other. With several processors, each hand-over wakes a thread on another
// processor, which looks for work, finds none and sleeps again: with one call at a time this
// is a third of the time of a call. Therefore the program uses one processor while that is
// enough, and all processors as soon as goroutines wait or something computes for long.
type adaptiveGOMAXPROCS struct {
	useAllProcessors   func()                     // use all processors
	useOneProcessor    func()                     // use one processor
	load               func() (cpu time.Duration) // processor time that the process has used
	runnableGoroutines func() int                 // number of runnable goroutines that wait for a processor
}

const (
	activeInterval = 50 * time.Millisecond  // between samples while there is load
	idleInterval   = 250 * time.Millisecond // between samples otherwise
	quietSamples   = 4                      // samples in a row before it reduces to one processor

	widenRunnable = 3    // waiting goroutines from which on all processors are used
	widenLoad     = 0.85 // share of one processor from which on all processors are used
	narrowLoad    = 0.9  // share of one processor below which one is enough; the same work costs a quarter more on several
	idleLoad      = 0.02 // share of one processor below which the program counts as idle
)

func newAdaptiveGOMAXPROCS() *adaptiveGOMAXPROCS {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	return &adaptiveGOMAXPROCS{
		useAllProcessors: runtime.SetDefaultGOMAXPROCS, useOneProcessor: func() { runtime.GOMAXPROCS(1) },
		load: processorTime,
		runnableGoroutines: func() int {
			if metrics.Read(sample); sample[0].Value.Kind() == metrics.KindUint64 {
				return int(sample[0].Value.Uint64())
			}
			return widenRunnable // unknown: use all processors
		},
	}
}

// run adapts to the load until ctx is done. It does nothing if there is one processor, or if the
// environment sets GOMAXPROCS.
func (b *adaptiveGOMAXPROCS) run(ctx context.Context) error {
	if runtime.GOMAXPROCS(0) == 1 || os.Getenv("GOMAXPROCS") != "" {
		<-ctx.Done() // the program ends when a part returns
		return nil
	}
	defer b.useAllProcessors()
	b.follow(ctx)
	return nil
}

func (b *adaptiveGOMAXPROCS) follow(ctx context.Context) {
	timer := time.NewTimer(idleInterval)
	defer timer.Stop()
	wide, calm := true, 0
	used, at := b.load(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		now, cpu := time.Now(), b.load()
		share := float64(cpu-used) / float64(max(now.Sub(at), 1))
		used, at = cpu, now
		waiting := b.runnableGoroutines()
		switch {
		case !wide && (waiting >= widenRunnable || share >= widenLoad):
			b.useAllProcessors()
			wide, calm = true, 0
		case wide && waiting < widenRunnable && share < narrowLoad:
			if calm++; calm >= quietSamples {
				b.useOneProcessor()
				wide = false
			}
		default:
			calm = 0
		}
		if share < idleLoad {
			timer.Reset(idleInterval)
		} else {
			timer.Reset(activeInterval)
		}
	}
}

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
