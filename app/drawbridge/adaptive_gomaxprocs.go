package main

import (
	"context"
	"os"
	"runtime"
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
