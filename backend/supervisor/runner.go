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

// runner manages one server or one instance of it. The fields below "owned" belong to its
// goroutine. Other goroutines use post and ask, and read live.
type runner struct {
	s       *Supervisor
	id      string
	cfg     atomic.Pointer[config.Server]
	retired atomic.Bool               // removed from the configuration
	held    atomic.Bool               // its command waits for approval
	used    atomic.Int64              // time of the last call, Unix nanoseconds
	own     *runner                   // the server's own runner, if this is an instance
	whose   instanceOwner             // if this is an instance
	crew    atomic.Pointer[[]*runner] // instances, if this is a server's own runner
	perCall *perCallProcesses         // calls that have their own process
	live    atomic.Pointer[snapshot]
	inbox   chan func()
	done    chan struct{} // closed when the goroutine ends

	// queue holds the posted functions. inbox wakes the goroutine.
	mu    sync.Mutex
	queue []func()

	// owned
	state     state
	wanted    bool
	closing   bool // the Supervisor is shutting down
	first     action
	primary   *connection
	secondEra secondEraConn
	pending   int                // starts and closes in progress
	abort     context.CancelFunc // aborts the start in progress
	giveUp    func(error)        // aborts it with a cause
	failedFor int                // progress checks since npm reported an error
	began     time.Time          // when the newest start began
	took      time.Duration      // duration of the newest successful start
	helpers   sync.WaitGroup
	timer     *time.Timer                 // of phaseBackoff and phaseWaiting
	returns   func(context.Context) error // blocks until a missing dependency may be available; nil if none is missing
	outside   context.CancelFunc          // cancels the helper that calls returns; nil if there is none
	healthy   *time.Timer
	beat      *time.Ticker
	idle      *time.Timer  // fires at the idle timeout
	relist    *time.Timer  // fires when the lists have to be refreshed
	watch     *time.Ticker // in phaseStarting: interval of progress checks
	rested    bool         // stopped because it was idle
	unsigned  bool         // in phaseWaiting: the user has to sign in
	remote    remoteWait
	pinging   bool
	pinged    time.Time // when the last ping was sent
	pingTook  time.Duration
	silent    bool // the last ping was not answered
	reason    string
	hint      string // what the user can do about reason, or ""
	explained bool   // reason says more than "the connection broke"
	// endedByItself is set when the connection broke because the process ended.
	endedByItself bool
	detail        string
	stderr        []string
	exitCode      *int
	process       Process
	starts        int // number of all starts
	restarts      int
	lastCall      time.Time // when a call last started a crashed server
}

// newRunner returns a runner whose state already says whether the server starts, so that a list
// request that arrives before its goroutine runs waits for it.
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

// limit returns after how many consecutive failed starts the server is given up.
func limit(c *config.Server) int { return max(c.Restart.MaxAttempts, 1) }

func startup(c *config.Server) time.Duration {
	if c.StartupTimeout <= 0 {
		return config.DefaultStartupTimeout
	}
	return c.StartupTimeout
}

// wantedByConfig reports whether the configuration wants the server to run. An on-demand server
// runs once, so that its tools become known.
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
	default: // already signalled
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

// run is the runner's goroutine. It ends when the Supervisor shuts down or the server was
// removed, in either case after the process has exited.
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

// step passes an event to the state machine and performs the resulting action.
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
			r.step(evTimer) // immediately: calls that arrive meanwhile wait for it
			return
		}
		r.timer.Reset(d)
		if r.state.phase == phaseWaiting {
			r.watchDependency()
		}
	}
}

// settle completes a stop when no start or close is in progress any more.
func (r *runner) settle() {
	if r.state.phase == phaseStopping && r.pending == 0 {
		r.step(evEnded)
	}
}

// delay returns the delay before the next start. The first restart is immediate.
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

// backoff returns the delay after a number of consecutive failures, without jitter.
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

// reconfigured applies a new configuration, which cfg and retired already contain. wake
// re-evaluates whether the server should run; renew restarts it.
func (r *runner) reconfigured(renew, wake bool) {
	if wake {
		r.wanted = r.wantedByConfig()
	}
	r.step(evWanted)
	// The change may have corrected the cause of a crash.
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
