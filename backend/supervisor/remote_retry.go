package supervisor

import (
	"math/rand/v2"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// The pace at which a remote server that cannot be reached is tried again, for ever.
const (
	remoteBackoff    = time.Second
	maxRemoteBackoff = time.Minute
	callPause        = time.Second // between the tries that calls and changes of the network can cause
)

// remoteWait is what a runner knows of a remote server that cannot be reached. Its
// goroutine owns it.
type remoteWait struct {
	waiting bool      // the newest start failed because the server was out of reach, or it was lost
	tries   int       // in a row, until it has run well for a while
	asked   time.Time // Retry-After: not before, but for the user
	atOnce  bool      // the next try has no pause
	called  bool      // a call waits for the next try, which comes within callPause
}

// isRemote reports whether a server is reached by an address and runs elsewhere.
func isRemote(c *config.Server) bool {
	return (c.Type == core.HTTP || c.Type == core.SSE) && c.Command == ""
}

// loss is what the end of a connection is to the machine. A server elsewhere did not
// fail: it is waited for.
func (r *runner) loss() event {
	if !isRemote(r.config()) {
		return evLost
	}
	r.remote.waiting, r.remote.asked = true, time.Time{}
	r.unsigned, r.returns = false, nil // of an earlier start
	return evAway
}

// failure is what a failed start is to the machine.
func (r *runner) failure(err error) event {
	e := failureOf(err)
	r.remote.waiting = false
	if e == evFailed && isRemote(r.config()) && r.remote.unreachable(err) {
		return evAbsent
	}
	return e
}

// unreachable notes that a start failed with err, and reports whether that may pass by
// itself.
func (w *remoteWait) unreachable(err error) bool {
	after, away := wire.Unreachable(err)
	if !away && core.CodeOf(err) != core.CodeTimeout {
		return false
	}
	w.waiting, w.asked = true, time.Time{}
	w.tries = max(w.tries, 1) // only what was connected is tried again without a pause
	if after > 0 {
		w.asked = time.Now().Add(after)
	}
	return true
}

// delay is the pause before the next try: none for a connection that has just broken, then
// longer and longer, with jitter that never makes it longer than the limit.
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

// mayRetry reports whether a call, or a change of the network, may try at once a server
// that was last tried at began.
func (w *remoteWait) mayRetry(began time.Time) bool {
	now := time.Now()
	return w.waiting && now.Sub(began) >= callPause && !now.Before(w.asked)
}

// retryForCall tries a waiting server for a call: at once, or when the pause after the last
// try has passed.
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

// note takes note of an event before the machine does.
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

// NetworkChanged tells that the machine woke up or its addresses changed. Remote servers
// that wait are tried at once, those that run are asked for a sign of life over new
// connections, and those that were given up get one more chance. It does not block.
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
		default: // the last try, over the old network, has only just begun
			w.tries = 1
			r.timer.Reset(callPause - time.Since(r.began))
		}
	case phaseStarting: // over the old network: it may hang for long
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
