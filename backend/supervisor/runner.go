package supervisor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// runner owns one server. Everything below "owned" belongs to its goroutine; the
// others reach it by post and ask, and read live.
type runner struct {
	s       *Supervisor
	id      string
	cfg     atomic.Pointer[config.Server]
	retired atomic.Bool               // removed from the configuration
	held    atomic.Bool               // its command waits for approval
	used    atomic.Int64              // when a call last needed it, Unix nanoseconds
	own     *runner                   // of an instance: the server's own runner
	whose   instanceOwner             // of an instance
	crew    atomic.Pointer[[]*runner] // the instances, when it is a server's own runner
	perCall *perCallProcesses         // calls with a process each
	live    atomic.Pointer[snapshot]
	inbox   chan func()
	done    chan struct{} // closed when the goroutine is ending

	// queue holds what was posted; the goroutine is woken through inbox.
	mu    sync.Mutex
	queue []func()

	// owned
	state     state
	wanted    bool
	closing   bool // the Supervisor is ending
	first     action
	primary   *connection
	secondEra secondEraConn
	pending   int                // helpers that hold a process: starts and closes under way
	abort     context.CancelFunc // of the start under way
	giveUp    func(error)        // ends it for a reason
	failedFor int                // looks at it since npm has said that it failed
	began     time.Time          // when the newest start began
	took      time.Duration      // how long the newest successful one needed
	helpers   sync.WaitGroup
	timer     *time.Timer                 // of phaseBackoff and phaseWaiting
	returns   func(context.Context) error // after a start for which something was absent: returns when it may be there
	outside   context.CancelFunc          // of the helper that waits in returns; nil without one
	healthy   *time.Timer
	beat      *time.Ticker
	idle      *time.Timer  // until nobody has called it for long enough
	relist    *time.Timer  // until the lists are read again
	watch     *time.Ticker // of phaseStarting: what is it doing?
	rested    bool         // stopped because nobody called it
	unsigned  bool         // in phaseWaiting: for the user to sign in
	remote    remoteWait
	pinging   bool
	pinged    time.Time // when the last ping was sent
	pingTook  time.Duration
	silent    bool // the last ping was not answered
	reason    string
	hint      string // what to do about reason, where that is known
	explained bool   // reason is more than "the connection broke"
	// endedByItself is set when the connection broke because the process ended.
	endedByItself bool
	detail        string
	stderr        []string
	exitCode      *int
	process       Process
	starts        int // all of them
	restarts      int
	lastCall      time.Time // when a call last started a crashed server
}

// newRunner decides at once whether the server starts, so that a list which
// arrives before its goroutine runs knows what to wait for.
func newRunner(s *Supervisor, c *config.Server, held bool) *runner {
	r := &runner{s: s, id: c.ID}
	r.held.Store(held)
	r.init(c)
	return r
}

func (r *runner) init(c *config.Server) {
	r.perCall = newPerCallProcesses()
	r.inbox, r.done = make(chan func(), 1), make(chan struct{})
	r.used.Store(time.Now().UnixNano())
	r.cfg.Store(c)
	r.wanted = r.wantedByConfig()
	r.state.limit = limit(c)
	r.state, r.first = next(r.state, r.wanted, evWanted)
	r.live.Store(&snapshot{changed: make(chan struct{})})
	r.publish()
}

func (r *runner) config() *config.Server { return r.cfg.Load() }

// limit is how many starts in a row may fail before we give up.
func limit(c *config.Server) int { return max(c.Restart.MaxAttempts, 1) }

func startup(c *config.Server) time.Duration {
	if c.StartupTimeout <= 0 {
		return config.DefaultStartupTimeout
	}
	return c.StartupTimeout
}

// wantedByConfig reports whether the server runs without anybody asking for it. An
// on-demand server runs once, so that its tools are known.
func (r *runner) wantedByConfig() bool {
	c := r.config()
	switch {
	case c.Disabled || r.retired.Load() || r.held.Load() || r.s.paused.Load():
		return false
	case r.own != nil:
		return true
	case c.Start == config.StartManual:
		return false
	case c.Start == config.StartOnDemand:
		return !r.listed()
	}
	return true
}

func (r *runner) listed() bool {
	v, ok := r.s.o.Registry.Server(r.id)
	return ok && v.Offers()[0].Catalog != nil
}

// post runs f in the runner's goroutine, in order, and returns at once.
func (r *runner) post(f func()) {
	r.mu.Lock()
	r.queue = append(r.queue, f)
	r.mu.Unlock()
	select {
	case r.inbox <- r.drain:
	default: // it has been woken already
	}
}

func (r *runner) drain() {
	r.mu.Lock()
	queue := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, f := range queue {
		f()
	}
}

// ask runs f in the runner's goroutine and waits for its result.
func (r *runner) ask(ctx context.Context, f func() error) error {
	result := make(chan error, 1)
	r.post(func() { result <- f() })
	select {
	case err := <-result:
		return err
	case <-r.done:
		return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q is no longer there", r.id), Cause: errGone}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the runner's goroutine. It ends when the Supervisor does, or when the
// server was removed; either way only after nothing is left of the server.
func (r *runner) run() {
	defer r.helpers.Wait()
	defer close(r.done)
	r.timer, r.healthy, r.idle, r.relist = stoppedTimer(), stoppedTimer(), stoppedTimer(), stoppedTimer()
	r.beat, r.watch = time.NewTicker(time.Hour), time.NewTicker(time.Hour)
	defer r.idle.Stop()
	defer r.relist.Stop()
	defer r.watch.Stop()
	defer r.timer.Stop()
	defer r.healthy.Stop()
	defer r.beat.Stop()
	r.beat.Stop()
	r.watch.Stop()
	quit := r.s.quit
	drain := drain{r: r}
	defer drain.stop()
	r.act(r.first)
	if r.own != nil {
		r.watchIdle()
	}
	for {
		if r.state.phase == phaseStopped && r.pending == 0 {
			if r.closing || r.retired.Load() && r.s.forgetEnded(r) {
				return
			}
		}
		select {
		case f := <-r.inbox:
			f()
		case <-r.timer.C:
			r.step(evTimer)
		case <-r.healthy.C:
			r.step(evHealthy)
		case <-r.beat.C:
			r.heartbeat()
		case <-r.watch.C:
			r.reportStartProgress()
		case <-r.idle.C:
			r.stopIfIdle()
		case <-r.relist.C:
			r.refresh()
		case <-r.primary.lost():
			r.fail(r.primary.Conn.Err())
			r.step(r.loss())
		case <-r.secondEra.lost():
			r.closeSecondEra("connection lost")
		case <-quit:
			quit = nil
			drain.begin()
		case <-drain.look:
			drain.check()
		case <-drain.expired:
			drain.end()
		}
	}
}

// step takes one event through the machine and does what it says.
func (r *runner) step(e event) {
	if r.closing {
		r.wanted = false
	}
	was := r.state.phase
	r.remote.note(e)
	r.state.limit = limit(r.config())
	var a action
	r.state, a = next(r.state, r.wanted, e)
	if was != r.state.phase {
		r.left(was)
	}
	if a == doStart {
		r.rested = false
		if was != phaseStopped {
			r.restarts++
		}
	}
	r.act(a)
	r.publish()
	if a == doStop {
		r.settle()
	}
}

// left cleans up after a phase.
func (r *runner) left(was phase) {
	switch was {
	case phaseBackoff, phaseWaiting:
		r.timer.Stop()
		r.stopWatchingDependency()
	case phaseRunning:
		r.healthy.Stop()
		r.beat.Stop()
		r.relist.Stop()
		if r.own == nil {
			r.idle.Stop()
		}
		r.silent = false
	case phaseStarting:
		r.watch.Stop()
	}
	if r.state.phase == phaseStopped || r.state.phase == phaseRunning {
		r.reason, r.hint, r.detail, r.stderr, r.exitCode = "", "", "", nil, nil
	}
}

func (r *runner) act(a action) {
	switch a {
	case doStart:
		r.begin()
	case doStop:
		r.end()
	case doWait:
		d := r.delay()
		if d <= 0 && r.remote.waiting && r.state.phase == phaseWaiting {
			r.step(evTimer) // at once: a call that comes meanwhile waits for it
			return
		}
		r.timer.Reset(d)
		if r.state.phase == phaseWaiting {
			r.watchDependency()
		}
	}
}

// settle tells the machine that a stop is complete once nothing is left.
func (r *runner) settle() {
	if r.state.phase == phaseStopping && r.pending == 0 {
		r.step(evEnded)
	}
}

// delay is the pause before the next start. The first restart comes at once.
func (r *runner) delay() time.Duration {
	c := r.config()
	if r.state.phase == phaseWaiting && r.unsigned {
		return jitter(loginDelay)
	}
	if r.state.phase == phaseWaiting && r.remote.waiting {
		return r.remote.delay()
	}
	if r.state.phase == phaseWaiting {
		return jitter(waitingDelay)
	}
	return jitter(backoff(c.Restart, r.state.failures))
}

// backoff is the pause after so many failures in a row, without jitter.
func backoff(c config.Restart, failures int) time.Duration {
	first, most := c.Backoff, c.MaxBackoff
	if first <= 0 {
		first = config.DefaultBackoff
	}
	if most <= 0 {
		most = config.DefaultMaxBackoff
	}
	if failures <= 1 {
		return 0
	}
	d := min(first, most)
	if c.Strategy == config.RestartFixed {
		return d
	}
	for range failures - 2 {
		if d = min(2*d, most); d == most {
			break
		}
	}
	return d
}

// reconfigured takes note of a new configuration, which cfg and retired already hold.
func (r *runner) reconfigured(renew, wake bool) {
	if wake {
		r.wanted = r.wantedByConfig()
	}
	r.step(evWanted)
	// Whatever was changed may be what was wrong.
	if r.wanted && (renew || r.state.phase == phaseCrashed) {
		r.step(evRenew)
	}
	if r.state.phase == phaseRunning {
		r.arm()
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
