//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a server that clients call.
type Server struct {
	ID, Tool string
	Weight   int // relative frequency of calls
	// Says is the text of a correct response; "" means the text that was sent.
	Says string
	// Mark is a text in the command line of its process and of no other process; "" if the driver
	// must not kill or suspend it.
	Mark string
	// Crash replaces the kill by Mark with another way to restart the server, if not nil.
	Crash func() error
}

// Plan describes a run.
type Plan struct {
	URL, Admin string
	PID        int // of the daemon
	Tokens     []string
	Servers    []Server
	// SilentServer is a server that never responds: clients disappear during its calls.
	SilentServer string

	// The run ends after this many calls and all actions below; or after Duration, if set, even if
	// some are missing.
	Calls    int
	Duration time.Duration
	Rate     int // maximum calls per second of all clients together; 0 means no limit

	Crashes, Reloads, Reconnects, Suspensions, ClockShifts int
	// Reload makes the n-th change of the configuration and waits until it is applied. The last
	// one, 0, restores the initial configuration.
	Reload func(ctx context.Context, n int) error
	// ShiftClock sets the offset of the daemon's clock. It is nil if the daemon has no such clock.
	ShiftClock func(offset time.Duration) error

	AfterLoad func()        // called between the load and the wait for its resources, which takes a minute; may be nil
	Settle    time.Duration // time limit for the resource usage to return to its initial value
	Log       func(format string, a ...any)
}

// ClientCounts is what one client observed.
type ClientCounts struct {
	Calls, OK int            // answered calls, and those with the correct response
	Codes     map[string]int // the other calls, by error code
}

// Report is the result of a run.
type Report struct {
	Began     time.Time
	Took      time.Duration
	Clients   map[string]*ClientCounts
	Ghosts    int // abandoned calls: at most one row each, by the client VanishingClientName
	Expired   int // sessions that expired because the clock jumped; their calls were repeated
	Crashes   int
	Reloads   int
	Connects  int // reconnects
	Stops     int
	Jumps     int
	Before    Sample // when idle
	After     Sample
	Samples   []Sample
	Wrong     []string // the first broken promises
	WrongMore int      // number of further ones
}

// VanishingClientName is the name of the client that disappears during its calls.
const VanishingClientName = "soak-ghost"

// Total returns the sum over all clients.
func (r *Report) Total() ClientCounts {
	all := ClientCounts{Codes: map[string]int{}}
	for _, c := range r.Clients {
		all.Calls += c.Calls
		all.OK += c.OK
		for code, n := range c.Codes {
			all.Codes[code] += n
		}
	}
	return all
}

// run is one run of a plan.
type run struct {
	Plan
	began time.Time
	pace  pace

	calls, crashes, reloads, connects, stops, jumps, ghosts, expired atomic.Int64
	took                                                             histogram

	mu     sync.Mutex // guards report
	report *Report
}

// fail records a broken promise.
func (r *run) fail(format string, a ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.report.Wrong) >= 20 {
		r.report.WrongMore++
		return
	}
	r.report.Wrong = append(r.report.Wrong, time.Since(r.began).Round(time.Millisecond).String()+": "+fmt.Sprintf(format, a...))
}

// progress returns the completed share of the plan, from 0 to 1.
func (r *run) progress() float64 {
	if r.Duration > 0 {
		return min(1, float64(time.Since(r.began))/float64(r.Duration))
	}
	return min(1, float64(r.calls.Load())/float64(max(r.Calls, 1)))
}

func (r *run) over() bool {
	if r.Duration > 0 {
		return time.Since(r.began) >= r.Duration
	}
	return int(r.calls.Load()) >= r.Calls && int(r.crashes.Load()) >= r.Crashes && int(r.reloads.Load()) >= r.Reloads &&
		int(r.connects.Load()) >= r.Reconnects && int(r.stops.Load()) >= r.Suspensions && int(r.jumps.Load()) >= r.ClockShifts
}

// claimAction reports whether one of total actions is due now, and counts it as done.
func (r *run) claimAction(done *atomic.Int64, total int) bool {
	due := int64(r.progress() * float64(total))
	for {
		n := done.Load()
		if n >= due {
			return false
		}
		if done.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Run executes a plan. It returns an error only if the driver cannot work; broken promises are in
// the report.
func Run(ctx context.Context, p Plan) (*Report, error) {
	if p.Log == nil {
		p.Log = func(string, ...any) {}
	}
	r := &run{Plan: p, began: time.Now(), report: &Report{Began: time.Now().UTC(), Clients: map[string]*ClientCounts{}}}
	r.pace.every = 0
	if p.Rate > 0 {
		r.pace.every = time.Second / time.Duration(p.Rate)
	}
	clients := make([]*client, len(p.Tokens))
	for i, token := range p.Tokens {
		clients[i] = newClient(r, i, token)
		r.report.Clients[clients[i].name] = &clients[i].count
	}

	// The initial allocations for every server and client are not a leak.
	if err := r.warm(ctx, clients); err != nil {
		return nil, err
	}
	before, err := r.waitForStableUsage(ctx, nil)
	if err != nil {
		return nil, err
	}
	r.report.Before = before
	r.Log("at rest: %s", before)

	r.began = time.Now()
	r.calls.Store(0)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var deeds, workers sync.WaitGroup
	for _, deed := range []func(context.Context){r.crash, r.suspendServers, r.changeConfig, r.shiftClock, r.runVanishingClient, r.blockEventStream, r.watch} {
		deeds.Go(func() { deed(ctx) })
	}
	for _, c := range clients {
		workers.Go(func() { c.callUntilOver(ctx) })
	}
	workers.Wait()
	err = context.Cause(ctx)
	stop()
	deeds.Wait()
	r.report.Took = time.Since(r.began)
	for _, c := range clients {
		c.deleteSession(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("cannot finish: %w", err)
	}

	if err := r.Reload(context.WithoutCancel(ctx), 0); err != nil {
		return nil, err
	}
	if r.ShiftClock != nil { // expire the sessions that clients abandoned
		if err := r.ShiftClock(3 * time.Hour); err != nil {
			return nil, err
		}
	}
	if r.AfterLoad != nil {
		r.AfterLoad()
	}
	after, err := r.waitForStableUsage(context.WithoutCancel(ctx), &before)
	if err != nil {
		return nil, err
	}
	r.report.After = after
	if held := after.growthSince(before); held != "" {
		r.fail("more is held than before: %s; before: %s; after: %s", held, before, after)
	}
	r.report.Ghosts, r.report.Expired = int(r.ghosts.Load()), int(r.expired.Load())
	r.report.Crashes, r.report.Reloads, r.report.Connects = int(r.crashes.Load()), int(r.reloads.Load()), int(r.connects.Load())
	r.report.Stops, r.report.Jumps = int(r.stops.Load()), int(r.jumps.Load())
	return r.report, nil
}

// warm makes every client call every server once and close its session.
func (r *run) warm(ctx context.Context, clients []*client) error {
	var all sync.WaitGroup
	errs := make([]error, len(clients))
	for i, c := range clients {
		all.Go(func() {
			if errs[i] = c.connect(ctx); errs[i] != nil {
				return
			}
			for n := range 4 * len(r.Servers) {
				s := c.server
				if s == nil {
					s = &r.Servers[n%len(r.Servers)]
				}
				c.call(ctx, s)
			}
			c.deleteSession(ctx)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// pick returns a random server by weight.
func (r *run) pick() *Server {
	sum := 0
	for i := range r.Servers {
		sum += r.Servers[i].Weight
	}
	at := rand.IntN(max(sum, 1))
	for i := range r.Servers {
		if at -= r.Servers[i].Weight; at < 0 {
			return &r.Servers[i]
		}
	}
	return &r.Servers[0]
}

// pace limits the rate of calls.
type pace struct {
	every time.Duration // 0 means no limit
	mu    sync.Mutex    // guards next
	next  time.Time
}

func (p *pace) wait(ctx context.Context) {
	if p.every == 0 {
		return
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now // missed calls are not made up for
	}
	pause := p.next.Sub(now)
	p.next = p.next.Add(p.every)
	p.mu.Unlock()
	wait(ctx, pause)
}

// wait waits for d and reports whether ctx is still alive.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
