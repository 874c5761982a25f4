package supervisor

import (
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Delays between attempts to connect to an unreachable remote server. Attempts never stop.
const (
	remoteBackoff        = time.Second
	maxRemoteBackoff     = time.Minute
	minCallRetryInterval = time.Second // minimum time between attempts caused by calls and network changes
)

// remoteRetry is the retry state of a remote server. It is owned by the goroutine of its runner.
type remoteRetry struct {
	unreachable bool      // the server was unreachable at the newest start, or the connection was lost
	attempts    int       // consecutive attempts; reset by evHealthy
	retryAfter  time.Time // no attempt before this time (Retry-After), except by the user
	immediate   bool      // no delay before the next attempt
	callWaiting bool      // a call waits for the next attempt, which begins within minCallRetryInterval
}

// isRemote reports whether a server is reached by its address and not started by Drawbridge.
func isRemote(c *config.Server) bool {
	return (c.Type == core.HTTP || c.Type == core.SSE) && c.Command == ""
}

// lossEvent returns the event for a lost connection. For a remote server that is not a failure:
// it is retried.
func (r *runner) lossEvent() event {
	if !isRemote(r.config()) {
		return evLost
	}
	r.remoteRetry.unreachable, r.remoteRetry.retryAfter = true, time.Time{}
	r.needsLogin, r.awaitDependency = false, nil // results of an earlier start
	return evUnreachable
}

func (r *runner) startFailureEvent(err error) event {
	e := failureEvent(err)
	r.remoteRetry.unreachable = false
	if e == evFailed && isRemote(r.config()) && r.remoteRetry.recordFailure(err) {
		return evDependencyMissing
	}
	return e
}

// recordFailure records that a start failed with err, and reports whether err may be temporary.
func (w *remoteRetry) recordFailure(err error) bool {
	after, away := wire.Unreachable(err)
	if !away && core.CodeOf(err) != core.CodeTimeout {
		return false
	}
	w.unreachable, w.retryAfter = true, time.Time{}
	w.attempts = max(w.attempts, 1) // only a lost connection is retried without a delay
	if after > 0 {
		w.retryAfter = time.Now().Add(after)
	}
	return true
}

// delay returns the delay before the next attempt: none for a lost connection, then exponential
// backoff with jitter up to maxRemoteBackoff.
func (w *remoteRetry) delay(id string) time.Duration {
	d := time.Duration(0)
	w.callWaiting = false
	if w.immediate {
		w.immediate = false
	} else if w.attempts > 0 {
		d = min(remoteBackoff<<min(w.attempts-1, 10), maxRemoteBackoff)
		d = time.Duration(float64(d) * (0.75 + 0.25*core.Jitter(id)))
	}
	w.attempts++
	return max(d, time.Until(w.retryAfter))
}

// mayRetry reports whether a call or a change of the network may retry the server immediately.
// began is when the last attempt began.
func (w *remoteRetry) mayRetry(began time.Time) bool {
	now := time.Now()
	return w.unreachable && now.Sub(began) >= minCallRetryInterval && !now.Before(w.retryAfter)
}

// retryForCall retries a waiting server for a call: immediately, or when minCallRetryInterval has
// passed since the last attempt.
func (r *runner) retryForCall() {
	switch w := &r.remoteRetry; {
	case !w.unreachable || time.Now().Before(w.retryAfter):
	case w.mayRetry(r.startedAt):
		r.step(evCall)
	case !w.callWaiting:
		w.callWaiting = true
		r.retryTimer.Reset(minCallRetryInterval - time.Since(r.startedAt))
		r.publish()
	}
}

// observe updates the retry state for an event. It is called before the state machine handles the
// event.
func (w *remoteRetry) observe(e event) {
	switch e {
	case evTimer, evCall:
		w.callWaiting = false
	case evConnected:
		w.unreachable = false
	case evHealthy:
		w.attempts = 0
	case evRestart:
		*w = remoteRetry{}
	}
}

// NetworkChanged must be called when the machine wakes up from sleep or its network addresses
// change. Remote servers that wait are retried, running ones are pinged over new connections, and
// crashed ones are retried once. NetworkChanged does not block.
func (s *Supervisor) NetworkChanged() {
	for _, own := range s.fleet.Load().order {
		if !isRemote(own.config()) {
			continue
		}
		for _, r := range append([]*runner{own}, own.instances()...) {
			r.post(r.networkChanged)
		}
	}
}

func (r *runner) networkChanged() {
	switch r.state.phase {
	case phaseWaiting:
		switch w := &r.remoteRetry; {
		case !w.unreachable || time.Now().Before(w.retryAfter):
		case w.mayRetry(r.startedAt):
			w.attempts = 1
			r.step(evTimer)
		default: // the last attempt, over the old network, has just begun
			w.attempts = 1
			r.retryTimer.Reset(minCallRetryInterval - time.Since(r.startedAt))
		}
	case phaseStarting: // over the old network, where it may hang
		if time.Since(r.startedAt) >= minCallRetryInterval {
			r.remoteRetry.attempts, r.remoteRetry.immediate = 1, true
			r.abortStartWith(errNetworkChanged)
		}
	case phaseRunning:
		if l := r.primary; l != nil {
			if c, ok := l.Connection.(interface{ CloseIdle() }); ok {
				c.CloseIdle()
			}
			r.ping()
		}
	case phaseCrashed:
		if time.Since(r.lastCallRestart) >= crashedRetryInterval {
			r.lastCallRestart = time.Now()
			r.step(evCall)
		}
	}
}

var errNetworkChanged = core.Errorf(core.CodeTimeout, "the network changed during the attempt")
