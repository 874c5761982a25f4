package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	simSeed    = flag.Int64("seed", 0, "run the simulation with this seed only")
	simTime    = flag.Duration("simulate", 2*time.Second, "run the simulation with new seeds for this time")
	simVerbose = flag.Bool("simlog", false, "with -seed: print the log of the program, and the trace")
)

// simSteps is the number of steps of one seed.
const simSteps = 2000

// Seeds that failed once.
var failedSeeds = []int64{1, 5, 323049323, 906115263, 1996806203}

// TestSimulation runs the program with simulated servers, clients and a user, in virtual time. A failure prints
// its seed; go test -run TestSimulation -seed N ./app/drawbridge repeats it. The seed draws one step at a time, and
// the next one only when all goroutines wait, so that a seed draws the same steps. Goroutines that one step wakes
// at the same instant run in the order that the runtime chooses. It is almost always the same one in a process with
// one processor that collects no garbage and preempts nobody, so the seeds run in such processes.
//
// An event is a line of the trace. It is a step; a request of a client or the end of its response; a message to a
// client, from a server or to it; the start or end of a process; or a change that the program reports to its page:
// of the state or the list of a server, of the configuration, of an approval, or a notice. Each call in the history
// is an event, when it is compared with what happened. The checks read all but the reports, whose states they compare
// with the true ones, and the messages of servers that follow a script, of which they read the calls.
func TestSimulation(t *testing.T) {
	const role = "DRAWBRIDGE_SIMULATION"
	switch {
	case os.Getenv(role) == "":
	case *simSeed != 0:
		simulate(t, *simSeed)
		return
	default:
		simulateAll(t)
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	var events, seeds, used atomic.Int64
	began, processes := time.Now(), 2
	if *simSeed != 0 {
		processes = 1
	}
	for range processes {
		wait.Go(func() {
			p := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSimulation$", "-test.timeout=0", fmt.Sprint("-test.v=", *simSeed != 0),
				fmt.Sprint("-seed=", *simSeed), fmt.Sprint("-simulate=", *simTime), fmt.Sprint("-simlog=", *simVerbose))
			p.Env = append(os.Environ(), role+"=1", "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
			out, err := p.CombinedOutput()
			var e, s int64
			_, _ = fmt.Sscanf(string(out), simSummary, &e, &s)
			events.Add(e)
			seeds.Add(s)
			used.Add(int64(p.ProcessState.UserTime() + p.ProcessState.SystemTime()))
			if err != nil && ctx.Err() == nil {
				cancel()
				t.Errorf("%v\n%s", err, out)
			} else if *simSeed != 0 {
				t.Logf("%s", out)
			}
		})
	}
	wait.Wait()
	if *simSeed != 0 {
		return
	}
	took := time.Since(began)
	t.Logf("%d events of %d seeds in %s: %.0f per minute, %.0f per minute of both processors", events.Load(), seeds.Load(), took.Round(time.Millisecond),
		float64(events.Load())/took.Minutes(), float64(events.Load())/time.Duration(used.Load()).Minutes()*2)
}

const simSummary = "%d events of %d seeds\n"

// simulateAll runs the seeds that failed once, and new ones.
func simulateAll(t *testing.T) {
	events, seeds := 0, 0
	run := func(seed int64) {
		events += simulate(t, seed)
		seeds++
		runtime.GC()
	}
	for _, seed := range failedSeeds {
		run(seed)
	}
	for began := time.Now(); time.Since(began) < *simTime && !t.Failed(); {
		run(rand.Int64N(1 << 31))
	}
	fmt.Printf(simSummary, events, seeds)
}

// simulate runs one seed and returns the number of events.
func simulate(t *testing.T, seed int64) (events int) {
	dir := t.TempDir()
	t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, seed, dir)
			for w.steps < simSteps && len(w.faults) == 0 {
				w.step()
				w.settle()
				w.checkCalls()
			}
			w.finish()
			events = w.events
			t.Logf("%d steps, %d events, trace %x", w.steps, w.events, w.digest.Sum64())
			if *simVerbose {
				t.Log(strings.Join(w.trace, "\n"))
			}
			if len(w.faults) > 0 {
				t.Errorf("after %d steps: %s\nrepeat it with: go test -run TestSimulation -seed %d ./app/drawbridge\n%s",
					w.steps, strings.Join(w.faults[:min(3, len(w.faults))], "\n"), seed, strings.Join(w.trace[max(0, len(w.trace)-60):], "\n"))
			}
		})
	})
	return events
}

func (w *world) settle() { synctest.Wait() }

// pass lets virtual time pass, in steps so that a timeout and an answer are not one event.
func (w *world) pass(d time.Duration) { time.Sleep(d) }

func pick[T any](w *world, list []T) T { return list[w.r.IntN(len(list))] }

// scripted returns a server whose answers are events.
func (w *world) scripted() *simServer { return w.order[w.r.IntN(3)] }

func (w *world) process() *simProcess {
	s := w.scripted()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(s.live) == 0 {
		return nil
	}
	return s.live[w.r.IntN(len(s.live))]
}

// simActions are the events and how often they are drawn.
var simActions = []struct {
	weight int
	do     func(*world)
}{
	{300, (*world).actCall}, {340, (*world).actAnswer}, {80, (*world).actApprove}, {100, (*world).actPassBriefly}, {25, (*world).actPass},
	{20, (*world).actEdit}, {3, (*world).actEditTwice}, {25, (*world).actListAndCall}, {15, (*world).actChangeTools}, {10, (*world).actDecide},
	{12, (*world).actCrash}, {4, (*world).actStick}, {8, (*world).actFate}, {10, (*world).actDisconnect}, {8, (*world).actListen},
	{5, (*world).actEndSession}, {5, (*world).actSteal}, {3, (*world).actRotate}, {4, (*world).actPause}, {3, (*world).actNetwork},
	{3, (*world).actClock}, {6, (*world).actOperate}, {12, (*world).actQuiet}, {5, (*world).actBurst},
	{4, (*world).actStallDisk}, {2, (*world).actSleep},
}

var simWeight = func() (sum int) {
	for _, a := range simActions {
		sum += a.weight
	}
	return sum
}()

func (w *world) step() {
	n := w.r.IntN(simWeight)
	for _, a := range simActions {
		if n -= a.weight; n < 0 {
			a.do(w)
			return
		}
	}
}
