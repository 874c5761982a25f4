package supervisor

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// arm starts the clocks of a running server.
func (r *runner) arm() {
	if r.state.phase != phaseRunning {
		return
	}
	r.healthy.Reset(healthyAfter)
	r.watchIdle()
	r.watchCatalog()
	if every := r.config().Heartbeat; every > 0 {
		r.beat.Reset(every)
	} else {
		r.beat.Stop()
	}
}

// heartbeat asks a server that has said nothing for a while whether it is there.
// Silence alone never ends a server: a ping has to fail after it, so that a machine
// that slept does not lose its servers on waking up.
func (r *runner) heartbeat() {
	if l := r.primary; l != nil && l.silence() >= r.config().Heartbeat {
		r.ping()
	}
}

// ping asks the server for a sign of life.
func (r *runner) ping() {
	l := r.primary
	if l == nil || r.pinging {
		return
	}
	r.pinging, r.pinged = true, time.Now()
	r.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		err := l.Ping(ctx)
		r.post(func() { r.answered(l, err) })
	})
}

func (r *runner) answered(l *connection, err error) {
	// Wall time, which goes on while the machine sleeps, unlike a timer.
	took := time.Since(r.pinged.Round(0))
	r.pinging = false
	if l != r.primary {
		return
	}
	if err != nil && took > 2*pingTimeout {
		r.heartbeat() // the machine slept meanwhile: this ping says nothing of the server
		return
	}
	if err == nil {
		r.pingTook = time.Since(r.pinged) // of the monotonic clock, which never steps back
		l.watchLists()
		if r.silent {
			r.silent, r.reason = false, ""
		}
		r.publish()
		return
	}
	silence, stale := l.silence(), r.config().Stale
	// A server that works on one call at a time cannot answer while it does; the
	// call's own timeout decides then.
	if stale > 0 && silence >= stale && l.inFlight.Load() == 0 {
		r.fail(core.Errorf(core.CodeTimeout, "did not answer for %s (staleTimeoutMs)", silence.Round(time.Second)))
		r.step(r.loss())
		return
	}
	r.silent = true
	r.reason = fmt.Sprintf("has not answered for %s", silence.Round(time.Second))
	r.publish()
}
