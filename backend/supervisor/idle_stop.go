package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// idleTimeout is how long this runner goes on without a call; 0 is for ever.
func (r *runner) idleTimeout() time.Duration {
	c := r.config()
	if c.IdleStop <= 0 && r.own != nil {
		return config.DefaultIdleStop // what a client left behind never stays for ever
	}
	return c.IdleStop
}

// watchIdle sets the clock that ends a server nobody calls.
func (r *runner) watchIdle() {
	if limit := r.idleTimeout(); limit > 0 {
		r.idle.Reset(max(limit-r.idleFor(), time.Second))
		return
	}
	r.idle.Stop()
}

// idleFor is how long nobody has called.
func (r *runner) idleFor() time.Duration { return time.Since(time.Unix(0, r.used.Load())) }

// stopIfIdle ends the server when it has been idle for long enough.
func (r *runner) stopIfIdle() {
	limit := r.idleTimeout()
	if limit <= 0 || r.state.phase == phaseStopped {
		return
	}
	if r.idleFor() < limit || !r.hasNoCalls() {
		r.watchIdle()
		return
	}
	r.s.o.Journal(r.id, slog.LevelInfo, fmt.Sprintf("nobody called it for %s%s", formatDuration(limit), r.instanceSuffix()))
	if r.own != nil {
		r.retired.Store(true)
		r.reconfigured(false, true)
		return
	}
	r.wanted, r.rested = false, true
	r.step(evWanted)
}

// hasNoCalls reports whether no call is on its way. If so, none can begin any more: what
// has found a connection but not yet used it finds that it rests, and asks anew.
func (r *runner) hasNoCalls() bool {
	links := []*connection{r.primary, r.secondEra.link}
	for _, l := range links {
		if l != nil {
			l.resting.Store(true)
		}
	}
	busy := false
	for _, l := range links {
		busy = busy || l != nil && l.inFlight.Load() > 0
	}
	if busy {
		for _, l := range links {
			if l != nil {
				l.resting.Store(false)
			}
		}
	}
	return !busy
}

// instanceSuffix names the instance in a sentence.
func (r *runner) instanceSuffix() string {
	if r.own == nil {
		return ""
	}
	return " (instance of " + r.whose.name + ")"
}

// resend serves a call whose connection was just being ended because nobody used it.
func (r *runner) resend(ctx context.Context, call *core.Call, sink core.Sink) (core.Reply, error) {
	up, err := r.s.For(ctx, call)
	if err != nil {
		return core.Reply{}, err
	}
	return up.Send(ctx, call, sink)
}
