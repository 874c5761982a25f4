package supervisor

import (
	"math/rand/v2"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Delays between attempts to connect to an unreachable remote server. Attempts never stop.
const (
	remoteBackoff    = time.Second
	maxRemoteBackoff = time.Minute
	callPause        = time.Second // minimum time between attempts caused by calls and network changes
)

// remoteWait is the retry state of a remote server. It is owned by the goroutine of its runner.
type remoteWait struct {
	waiting bool      // the server was unreachable at the newest start, or the connection was lost
	tries   int       // consecutive attempts; reset by evHealthy
	asked   time.Time // no attempt before this time (Retry-After), except by the user
	atOnce  bool      // no delay before the next attempt
	called  bool      // a call waits for the next attempt, which begins within callPause
}

// isRemote reports whether a server is reached by its address and not started by Drawbridge.
func isRemote(c *config.Server) bool {
	return (c.Type == core.HTTP || c.Type == core.SSE) && c.Command == ""
}

// loss returns the event for a lost connection. For a remote server that is not a failure: it is
// retried.
func (r *runner) loss() event {
	if !isRemote(r.config()) {
		return evLost
	}
	r.remote.waiting, r.remote.asked = true, time.Time{}
	r.unsigned, r.returns = false, nil // results of an earlier start
	return evAway
}

// failure returns the event for a failed start.
func (r *runner) failure(err error) event {
	e := failureOf(err)
	r.remote.waiting = false
	if e == evFailed && isRemote(r.config()) && r.remote.unreachable(err) {
		return evAbsent
	}
	return e
}

// unreachable records that a start failed with err, and reports whether err may be temporary.
func (w *remoteWait) unreachable(err error) bool {
	after, away := wire.Unreachable(err)
	if !away && core.CodeOf(err) != core.CodeTimeout {
		return false
	}
	w.waiting, w.asked = true, time.Time{}
	w.tries = max(w.tries, 1) // only a lost connection is retried without a delay
	if after > 0 {
		w.asked = time.Now().Add(after)
	}
	return true
}

// delay returns the delay before the next attempt: none for a lost connection, then exponential
// backoff with jitter up to maxRemoteBackoff.
func (w *remoteWait) delay() time.Duration {
	d := time.Duration(0)
	w.called = false
	if w.atOnce {
		w.atOnce = false
	} else if w.tries > 0 {
		d = min(remoteBackoff<<min(w.tries-1, 10), maxRemoteBackoff)
		d = time.Duration(float64(d) * (0.75 + 0.25*rand.Float64()))
	}
	w.tries++
	return max(d, time.Until(w.asked))
}

// mayRetry reports whether a call or a change of the network may retry the server immediately.
// began is when the last attempt began.
func (w *remoteWait) mayRetry(began time.Time) bool {
	now := time.Now()
	return w.waiting && now.Sub(began) >= callPause && !now.Before(w.asked)
}

// retryForCall retries a waiting server for a call: immediately, or when callPause has passed
// since the last attempt.
func (r *runner) retryForCall() {
	switch w := &r.remote; {
	case !w.waiting || time.Now().Before(w.asked):
	case w.mayRetry(r.began):
		r.step(evCall)
	case !w.called:
		w.called = true
		r.timer.Reset(callPause - time.Since(r.began))
		r.publish()
	}
}

// note updates the retry state for an event. It is called before the state machine handles the
// event.
func (w *remoteWait) note(e event) {
	switch e {
	case evTimer, evCall:
		w.called = false
	case evConnected:
		w.waiting = false
	case evHealthy:
		w.tries = 0
	case evRenew:
		*w = remoteWait{}
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
		switch w := &r.remote; {
		case !w.waiting || time.Now().Before(w.asked):
		case w.mayRetry(r.began):
			w.tries = 1
			r.step(evTimer)
		default: // the last attempt, over the old network, has just begun
			w.tries = 1
			r.timer.Reset(callPause - time.Since(r.began))
		}
	case phaseStarting: // over the old network, where it may hang
		if time.Since(r.began) >= callPause {
			r.remote.tries, r.remote.atOnce = 1, true
			r.giveUp(errNetworkChanged)
		}
	case phaseRunning:
		if l := r.primary; l != nil {
			if c, ok := l.Conn.(interface{ CloseIdle() }); ok {
				c.CloseIdle()
			}
			r.ping()
		}
	case phaseCrashed:
		if time.Since(r.lastCall) >= retryCrashed {
			r.lastCall = time.Now()
			r.step(evCall)
		}
	}
}

var errNetworkChanged = core.Errorf(core.CodeTimeout, "the network changed meanwhile")
