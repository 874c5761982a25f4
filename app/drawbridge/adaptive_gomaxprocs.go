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
	wide  func()                     // use all processors
	slim  func()                     // use one processor
	load  func() (cpu time.Duration) // processor time that the process has used
	ready func() int                 // number of runnable goroutines that wait for a processor
}

const (
	activeInterval = 50 * time.Millisecond  // between samples while there is load
	idleInterval   = 250 * time.Millisecond // between samples otherwise
	calmLooks      = 4                      // samples in a row before it reduces to one processor

	crowded = 3    // waiting goroutines from which on all processors are used
	full    = 0.85 // share of one processor from which on all processors are used
	roomy   = 0.9  // share of one processor below which one is enough; the same work costs a quarter more on several
	still   = 0.02 // share of one processor below which the program counts as idle
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
			return crowded // unknown: use all processors
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
	defer b.wide()
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
			timer.Reset(idleInterval)
		} else {
			timer.Reset(activeInterval)
		}
	}
}
