package supervisor

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// runner manages one server or one instance of it. Everything but shared belongs to its goroutine.
type runner struct {
	shared
	outcome
	timers
	heartbeat
	dependency

	state             state
	wanted            bool
	closing           bool // the Supervisor is shutting down
	firstAction       action
	primary           *connection
	secondEra         secondEraConn
	pendingOperations int                // starts and closes in progress
	abortStart        context.CancelFunc // aborts the start in progress
	abortStartWith    func(error)        // aborts it with a cause
	npmFailedChecks   int                // progress checks since npm reported an error
	startedAt         time.Time          // when the newest start began
	startDuration     time.Duration      // duration of the newest successful start
	helpers           sync.WaitGroup
	unsaved           atomic.Pointer[unsaved] // the newest catalog, until it is saved
	idleStopped       bool                    // stopped because it was idle
	needsLogin        bool                    // in phaseWaiting: the user has to sign in
	remoteRetry       remoteRetry
	starts            int // number of all starts
	restarts          int
	lastCallRestart   time.Time // when a call last started a crashed server
	lastFailure       string    // the reason of the newest failure before the current run
}

// shared is the part of a runner that all goroutines may use: they post and ask, and read live.
type shared struct {
	s             *Supervisor
	id            string
	cfg           atomic.Pointer[config.Server]
	retired       atomic.Bool               // removed from the configuration
	needsApproval atomic.Bool               // its command waits for approval
	lastUsed      atomic.Int64              // time of the last call, Unix nanoseconds
	parent        *runner                   // the server's own runner, if this is an instance
	owner         instanceOwner             // if this is an instance
	instanceList  atomic.Pointer[[]*runner] // instances, if this is a server's own runner
	perCall       *perCallProcesses         // calls that have their own process
	live          atomic.Pointer[snapshot]
	inbox         chan func()
	done          chan struct{} // closed when the goroutine ends

	// queue holds the posted functions. inbox wakes the goroutine.
	mu    sync.Mutex
	queue []func()
}

// outcome is how the newest start or connection ended.
type outcome struct {
	reason           string
	hint             string // what the user can do about reason, or ""
	remedy           core.Remedy
	reasonIsSpecific bool // reason says more than "the connection broke"
	// endedByItself is set when the connection broke because the process ended.
	endedByItself bool
	detail        string
	stderr        []string
	exitCode      *int
	process       upstream.Process
}

type timers struct {
	retryTimer      *time.Timer // of phaseBackoff and phaseWaiting
	healthyTimer    *time.Timer
	heartbeatTicker *time.Ticker
	idleTimer       *time.Timer  // fires at the idle timeout
	refreshTimer    *time.Timer  // fires when the lists have to be refreshed
	progressTicker  *time.Ticker // in phaseStarting: interval of progress checks
}

func stoppedTimers() timers {
	t := timers{stoppedTimer(), stoppedTimer(), time.NewTicker(time.Hour), stoppedTimer(), stoppedTimer(), time.NewTicker(time.Hour)}
	t.stop()
	return t
}

func (t *timers) stop() {
	for _, timer := range []interface{ Stop() bool }{t.retryTimer, t.healthyTimer, t.idleTimer, t.refreshTimer} {
		timer.Stop()
	}
	t.heartbeatTicker.Stop()
	t.progressTicker.Stop()
}

// heartbeat is the state of the pings.
type heartbeat struct {
	pingInFlight bool
	pingSentAt   time.Time // when the last ping was sent
	pingDuration time.Duration
	pingFailed   bool // the last ping was not answered
}

// dependency is what a start waits for, such as the Docker Engine.
type dependency struct {
	awaitDependency      func(context.Context) error // blocks until a missing dependency may be available; nil if none is missing
	cancelDependencyWait context.CancelFunc          // cancels the helper that calls awaitDependency; nil if there is none
}

// newRunner returns a runner whose state already says whether the server starts, so that a list
// request that arrives before its goroutine runs waits for it.
func newRunner(s *Supervisor, c *config.Server, needsApproval bool) *runner {
	r := &runner{shared: shared{s: s, id: c.ID}}
	r.needsApproval.Store(needsApproval)
	r.init(c)
	return r
}

func (r *runner) init(c *config.Server) {
	r.perCall = newPerCallProcesses()
	r.inbox, r.done = make(chan func(), 1), make(chan struct{})
	r.lastUsed.Store(time.Now().UnixNano())
	r.cfg.Store(c)
	r.wanted = r.wantedByConfig()
	r.state.limit = maxFailures(c)
	r.state, r.firstAction = next(r.state, r.wanted, evWanted)
	r.live.Store(&snapshot{changed: make(chan struct{})})
	r.publish()
}

func (r *shared) config() *config.Server { return r.cfg.Load() }

// maxFailures returns after how many consecutive failed starts the server is given up.
func maxFailures(c *config.Server) int { return max(c.Restart.MaxAttempts, 1) }

// wantedByConfig reports whether the configuration wants the server to run. An on-demand server
// runs once, so that its tools become known.
func (r *shared) wantedByConfig() bool {
	c := r.config()
	switch {
	case c.Disabled || r.retired.Load() || r.needsApproval.Load() || r.s.paused.Load():
		return false
	case r.parent != nil:
		return true
	case c.Start == config.StartManual:
		return false
	case c.Start == config.StartOnDemand:
		return !r.listed()
	}
	return true
}

func (r *shared) listed() bool {
	v, ok := r.s.o.Registry.Server(r.id)
	return ok && v.Offers()[0].Catalog != nil
}

// post runs f in the runner's goroutine, in order, and returns at once.
func (r *shared) post(f func()) {
	r.mu.Lock()
	r.queue = append(r.queue, f)
	r.mu.Unlock()
	select {
	case r.inbox <- r.runQueue:
	default: // already signalled
	}
}

func (r *shared) runQueue() {
	r.mu.Lock()
	queue := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, f := range queue {
		f()
	}
}

// ask runs f in the runner's goroutine and waits for its result.
func (r *shared) ask(ctx context.Context, f func() error) error {
	result := make(chan error, 1)
	r.post(func() { result <- f() })
	select {
	case err := <-result:
		return err
	case <-r.done:
		return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q no longer exists", r.id), Cause: errInstanceEnded}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the runner's goroutine. It ends when the Supervisor shuts down or the server was
// removed, in either case after the process has exited.
func (r *runner) run() {
	defer r.helpers.Wait()
	defer close(r.done)
	r.timers = stoppedTimers()
	defer r.timers.stop()
	quit := r.s.quit
	drain := drain{r: r}
	defer drain.stop()
	r.perform(r.firstAction)
	if r.parent != nil {
		r.resetIdleTimer()
	}
	for {
		if r.state.phase == phaseStopped && r.pendingOperations == 0 {
			if r.closing || r.retired.Load() && r.s.removeEnded(r) {
				return
			}
		}
		select {
		case f := <-r.inbox:
			f()
		case <-r.retryTimer.C:
			r.step(evTimer)
		case <-r.healthyTimer.C:
			r.step(evHealthy)
		case <-r.heartbeatTicker.C:
			r.pingIfSilent()
		case <-r.progressTicker.C:
			r.reportStartProgress()
		case <-r.idleTimer.C:
			r.stopIfIdle()
		case <-r.refreshTimer.C:
			r.refreshCatalog()
		case <-r.primary.broken():
			r.recordFailure(r.primary.Connection.Err())
			r.step(r.lossEvent())
		case <-r.secondEra.broken():
			r.closeSecondEra("connection lost")
		case <-quit:
			quit = nil
			drain.begin()
		case <-drain.tick:
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
	r.remoteRetry.observe(e)
	r.state.limit = maxFailures(r.config())
	var a action
	r.state, a = next(r.state, r.wanted, e)
	if was != r.state.phase {
		r.leavePhase(was)
	}
	if a == doStart {
		r.idleStopped = false
		if was != phaseStopped {
			r.restarts++
		}
	}
	r.perform(a)
	r.publish()
	if a == doStop {
		r.finishStop()
	}
}

func (r *runner) leavePhase(was phase) {
	switch was {
	case phaseBackoff, phaseWaiting:
		r.retryTimer.Stop()
		r.stopWatchingDependency()
	case phaseRunning:
		r.healthyTimer.Stop()
		r.heartbeatTicker.Stop()
		r.refreshTimer.Stop()
		if r.parent == nil {
			r.idleTimer.Stop()
		}
		r.pingFailed = false
	case phaseStarting:
		r.progressTicker.Stop()
	}
	if r.state.phase == phaseStopped || r.state.phase == phaseRunning {
		r.lastFailure = clause(r.reason)
		r.reason, r.hint, r.detail, r.stderr, r.exitCode, r.remedy = "", "", "", nil, nil, core.Remedy{}
	}
}

func (r *runner) perform(a action) {
	switch a {
	case doStart:
		r.beginStart()
	case doStop:
		r.closeConnections()
	case doWait:
		d := r.delay()
		if d <= 0 && r.remoteRetry.unreachable && r.state.phase == phaseWaiting {
			r.step(evTimer) // immediately: calls that arrive meanwhile wait for it
			return
		}
		r.retryTimer.Reset(d)
		if r.state.phase == phaseWaiting {
			r.watchDependency()
		}
	}
}

// finishStop completes a stop when no start or close is in progress any more.
func (r *runner) finishStop() {
	if r.state.phase == phaseStopping && r.pendingOperations == 0 {
		r.step(evEnded)
	}
}

// delay returns the delay before the next start. The first restart is immediate.
func (r *runner) delay() time.Duration {
	c := r.config()
	if r.state.phase == phaseWaiting && r.needsLogin {
		return r.jitter(loginRetryDelay)
	}
	if r.state.phase == phaseWaiting && r.remoteRetry.unreachable {
		return r.remoteRetry.delay(r.id)
	}
	if r.state.phase == phaseWaiting && r.awaitDependency != nil {
		return r.jitter(watchedDependencyDelay)
	}
	if r.state.phase == phaseWaiting {
		return r.jitter(dependencyRetryDelay)
	}
	return r.jitter(backoff(c.Restart, r.state.failures))
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

// applyConfig applies a new configuration, which cfg and retired already contain. reevaluate
// determines again whether the server should run; restart restarts it.
func (r *runner) applyConfig(restart, reevaluate bool) {
	if reevaluate {
		r.wanted = r.wantedByConfig()
	}
	r.step(evWanted)
	// The change may have corrected the cause of a crash.
	if r.wanted && (restart || r.state.phase == phaseCrashed) {
		r.step(evRestart)
	}
	if r.state.phase == phaseRunning {
		r.resetTimers()
	}
}

func stoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
