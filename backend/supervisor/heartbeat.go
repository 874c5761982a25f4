package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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
