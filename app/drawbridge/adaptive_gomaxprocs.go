package main

import (
	"context"
	"os"
	"runtime"
	"runtime/metrics"
	"time"
)

// adaptiveGOMAXPROCS is how many processors the program uses at once. A call passes through four
// goroutines, one after the other. Where there is more than one processor, each hand-over
// wakes a thread on another, which looks for work, finds none and sleeps again: with one
// call at a time that is a third of what the call takes. So the program works on one
// processor as long as that is enough, and on all as soon as work waits or something
// computes for long.
type adaptiveGOMAXPROCS struct {
	wide  func()                     // use all
	slim  func()                     // use one
	load  func() (cpu time.Duration) // what the process has used so far
	ready func() int                 // goroutines that could run and wait for a processor
}

const (
	breadthLook = 50 * time.Millisecond  // while something happens
	breadthIdle = 250 * time.Millisecond // else
	calmLooks   = 4                      // in a row, before it becomes slim

	crowded = 3    // goroutines that wait
	full    = 0.85 // of one processor
	roomy   = 0.9  // the same work takes a quarter more on several
	still   = 0.02
)

func newAdaptiveGOMAXPROCS() *adaptiveGOMAXPROCS {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	return &adaptiveGOMAXPROCS{
		wide: runtime.SetDefaultGOMAXPROCS, slim: func() { runtime.GOMAXPROCS(1) },
		load: processorTime,
		ready: func() int {
			if metrics.Read(sample); sample[0].Value.Kind() == metrics.KindUint64 {
				return int(sample[0].Value.Uint64())
			}
			return crowded // unknown: all processors, as ever
		},
	}
}

// run follows the load until ctx ends. It only waits where there is one processor, or
// where somebody has chosen the number with GOMAXPROCS.
func (b *adaptiveGOMAXPROCS) run(ctx context.Context) error {
	if runtime.GOMAXPROCS(0) == 1 || os.Getenv("GOMAXPROCS") != "" {
		<-ctx.Done() // a part that returns ends the program
		return nil
	}
	defer b.wide()
	b.follow(ctx)
	return nil
}

func (b *adaptiveGOMAXPROCS) follow(ctx context.Context) {
	timer := time.NewTimer(breadthIdle)
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
		waiting := b.ready()
		switch {
		case !wide && (waiting >= crowded || share >= full):
			b.wide()
			wide, calm = true, 0
		case wide && waiting < crowded && share < roomy:
			if calm++; calm >= calmLooks {
				b.slim()
				wide = false
			}
		default:
			calm = 0
		}
		if share < still {
			timer.Reset(breadthIdle)
		} else {
			timer.Reset(breadthLook)
		}
	}
}
