package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// idleTimeout returns after how long without a call this runner stops; 0 means never.
func (r *runner) idleTimeout() time.Duration {
	c := r.config()
	if c.IdleStop <= 0 && r.parent != nil {
		return config.DefaultIdleStop // instances always have an idle timeout
	}
	return c.IdleStop
}

// resetIdleTimer sets the timer that stops an idle server.
func (r *runner) resetIdleTimer() {
	if limit := r.idleTimeout(); limit > 0 {
		r.idleTimer.Reset(max(limit-r.idleFor(), time.Second))
		return
	}
	r.idleTimer.Stop()
}

// idleFor returns the time since the last call.
func (r *runner) idleFor() time.Duration { return time.Since(time.Unix(0, r.lastUsed.Load())) }

// stopIfIdle stops the server if it has been idle for idleTimeout.
func (r *runner) stopIfIdle() {
	limit := r.idleTimeout()
	if limit <= 0 || r.state.phase == phaseStopped {
		return
	}
	if r.idleFor() < limit || !r.hasNoCalls() {
		r.resetIdleTimer()
		return
	}
	r.s.o.Journal(r.id, slog.LevelInfo, fmt.Sprintf("idle for %s%s", formatDuration(limit), r.instanceSuffix()))
	if r.parent != nil {
		r.retired.Store(true)
		r.applyConfig(false, true)
		return
	}
	r.wanted, r.idleStopped = false, true
	r.step(evWanted)
}

// hasNoCalls reports whether no call is in flight. If so, no call can begin on the connection
// any more: a call that has found it but not used it yet gets a new one.
func (r *runner) hasNoCalls() bool {
	links := []*connection{r.primary, r.secondEra.conn}
	for _, l := range links {
		if l != nil {
			l.closing.Store(true)
		}
	}
	busy := false
	for _, l := range links {
		busy = busy || l != nil && l.inFlight.Load() > 0
	}
	if busy {
		for _, l := range links {
			if l != nil {
				l.closing.Store(false)
			}
		}
	}
	return !busy
}

// instanceSuffix names the instance in log messages.
func (r *runner) instanceSuffix() string {
	if r.parent == nil {
		return ""
	}
	return " (instance of " + r.owner.name + ")"
}

// resend repeats a call whose connection was being closed because it was idle. The call has
// not been sent.
func (r *runner) resend(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	up, err := r.s.For(ctx, call)
	if err != nil {
		return core.Reply{}, err
	}
	if err := core.Readmit(ctx); err != nil {
		return core.Reply{}, err
	}
	return up.Send(ctx, call, sink)
}

// DrainLimit is how long shutdown waits for calls in flight.
const DrainLimit = 3 * time.Second

const drainInterval = 20 * time.Millisecond // interval of checking for calls in flight

// drain waits for the calls in flight of a server before it is stopped at shutdown.
type drain struct {
	r       *runner
	ticker  *time.Ticker
	tick    <-chan time.Time
	expired <-chan struct{}
}

// begin stops the server at once if no call is in flight.
func (d *drain) begin() {
	if d.r.hasNoCalls() {
		d.end()
		return
	}
	d.ticker = time.NewTicker(drainInterval)
	d.tick, d.expired = d.ticker.C, d.r.s.drainExpired
}

// check stops the server if its last call has ended.
func (d *drain) check() {
	if d.r.hasNoCalls() {
		d.end()
	}
}

// end stops the server.
func (d *drain) end() {
	d.stop()
	d.tick, d.expired = nil, nil
	d.r.closing, d.r.wanted = true, false
	d.r.step(evWanted)
}

func (d *drain) stop() {
	if d.ticker != nil {
		d.ticker.Stop()
	}
}

// resetTimers resets the timers of a running server.
func (r *runner) resetTimers() {
	if r.state.phase != phaseRunning {
		return
	}
	r.healthyTimer.Reset(healthyAfter)
	r.resetIdleTimer()
	r.resetRefreshTimer()
	if every := r.config().Heartbeat; every > 0 {
		r.heartbeatTicker.Reset(every)
	} else {
		r.heartbeatTicker.Stop()
	}
}

// pingIfSilent pings a server that has been silent for the heartbeat interval. Silence alone never
// stops a server: a ping has to fail first, so that servers survive when the machine wakes up
// from sleep.
func (r *runner) pingIfSilent() {
	if l := r.primary; l != nil && l.silence() >= r.config().Heartbeat {
		r.ping()
	}
}

// ping sends a ping, unless one is in flight.
func (r *runner) ping() {
	l := r.primary
	if l == nil || r.pingInFlight {
		return
	}
	r.pingInFlight, r.pingSentAt = true, time.Now()
	limit := pingTimeout
	if stale := r.config().Stale; stale > 0 {
		limit = min(limit, stale)
	}
	r.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		err := l.Ping(ctx)
		r.post(func() { r.pingAnswered(l, err) })
	})
}

func (r *runner) pingAnswered(l *connection, err error) {
	// Wall-clock time includes sleep of the machine, unlike the monotonic clock.
	took := time.Since(r.pingSentAt.Round(0))
	r.pingInFlight = false
	if l != r.primary {
		return
	}
	if err != nil && took > 2*pingTimeout {
		r.pingIfSilent() // the machine slept meanwhile, so the result says nothing about the server
		return
	}
	if err == nil {
		r.pingDuration = time.Since(r.pingSentAt) // monotonic, so it is never negative
		l.markHeard()
		if r.pingFailed {
			r.pingFailed, r.reason = false, ""
		}
		r.publish()
		return
	}
	silence, stale := l.silence(), r.config().Stale
	// A server that handles one call at a time cannot answer a ping during a call. The timeout of
	// the call applies then.
	if stale > 0 && silence >= stale && l.inFlight.Load() == 0 {
		r.recordFailure(core.Errorf(core.CodeTimeout, "did not respond for %s (staleTimeoutMs)", silence.Round(time.Second)))
		r.step(r.lossEvent())
		return
	}
	r.pingFailed = true
	r.reason = fmt.Sprintf("has not responded for %s", silence.Round(time.Second))
	r.publish()
}

// A server with session: perCall has a process for each call, which starts and ends with the
// call, so that no call sees what another one left in memory. The server's own runner only
// reads the catalog.

// perCallUpstream is the upstream of a single call.
type perCallUpstream struct {
	r       *runner
	account string
}

var errStopped = errors.New("the server was stopped")

// perCallUpstream returns the upstream of a single call, or an error that says why the server
// accepts no calls.
func (r *runner) perCallUpstream(account string) (Upstream, error) {
	c := r.config()
	switch {
	case r.retired.Load():
		return nil, core.Errorf(core.CodeNotFound, "there is no server named %q", r.id)
	case r.needsApproval.Load():
		return nil, r.unapprovedError()
	case r.s.paused.Load():
		return nil, r.s.errPaused()
	case c.Disabled:
		return nil, r.disabledError()
	case c.Start == config.StartManual && !r.live.Load().wanted && !r.listed():
		return nil, r.manualStartError()
	}
	if _, ok := c.WithAccount(account); !ok {
		return nil, unknownAccountError(c, account)
	}
	return perCallUpstream{r, account}, nil
}

// Send starts the server, sends call, and stops the server before it returns. At most
// maxInstances run at the same time; further calls wait.
func (e perCallUpstream) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	r, s, ended := e.r, e.r.s, make(chan struct{})
	select {
	case r.perCall.slots <- struct{}{}:
		defer func() { <-r.perCall.slots }()
	case <-ctx.Done():
		return core.Reply{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return core.Reply{}, core.Errorf(core.CodeUnavailable, "Drawbridge is stopping")
	}
	s.active.Go(func() { // so that Run ends only after this call's process has
		select {
		case <-s.drainExpired:
			cancel(errStopped)
		case <-ctx.Done():
		}
		<-ended
	})
	s.mu.Unlock()
	defer close(ended)
	defer r.perCall.add(cancel)()
	if s.paused.Load() { // a pause that begins later finds the call among those that it ends
		return core.Reply{}, s.errPaused()
	}

	c, ok := r.config().WithAccount(e.account)
	if !ok {
		return core.Reply{}, unknownAccountError(r.config(), e.account)
	}
	session, err := r.connectInSlot(ctx, upstream.Request{Server: c, Owner: "call", Changed: func(core.Kind) {}, SkipCatalog: true}, upstream.StartupTimeout(c))
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errStopped) {
			err = cause
		} else if cause != nil {
			return core.Reply{}, cause
		}
		return core.Reply{}, e.unavailableError(err)
	}
	defer func() { r.logStop(session.Close(s.stopCtx)) }()
	if err := core.Readmit(ctx); err != nil {
		return core.Reply{}, err
	}
	reply, err := session.Send(ctx, call, sink)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		err = e.unavailableError(errStopped)
	}
	return reply, err
}

func (e perCallUpstream) unavailableError(err error) error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: errors.Is(err, upstream.ErrDependencyMissing), Cause: err,
		Message: fmt.Sprintf("server %q cannot run this call: %s", e.r.id, e.r.displayReason(err)),
		Hint:    "See its log: drawbridge logs " + e.r.id + "."}
}

// perCallProcesses tracks the calls in flight, each with its own process.
type perCallProcesses struct {
	slots chan struct{} // one element for each running process

	mu   sync.Mutex
	live map[*context.CancelCauseFunc]bool
	idle chan struct{} // closed while no process runs
}

func newPerCallProcesses() *perCallProcesses {
	idle := make(chan struct{})
	close(idle)
	return &perCallProcesses{slots: make(chan struct{}, maxInstances), live: map[*context.CancelCauseFunc]bool{}, idle: idle}
}

// awaitIdle waits until no call has a process, or until ctx is done.
func (e *perCallProcesses) awaitIdle(ctx context.Context) error {
	e.mu.Lock()
	idle := e.idle
	e.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *perCallProcesses) add(cancel context.CancelCauseFunc) (leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.live) == 0 {
		e.idle = make(chan struct{})
	}
	e.live[&cancel] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.live, &cancel); len(e.live) == 0 {
			close(e.idle)
		}
	}
}

// cancelAll cancels all calls.
func (e *perCallProcesses) cancelAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for cancel := range e.live {
		(*cancel)(errStopped)
	}
}
