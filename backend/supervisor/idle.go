package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// idleTimeout returns after how long without a call this runner stops; 0 means never.
func (r *shared) idleTimeout() time.Duration {
	c := r.config()
	if c.IdleStop <= 0 && r.parent != nil {
		return config.DefaultIdleStop // instances always have an idle timeout
	}
	return c.IdleStop
}

func (r *runner) resetIdleTimer() {
	if limit := r.idleTimeout(); limit > 0 {
		r.idleTimer.Reset(max(limit-r.idleFor(), time.Second))
		return
	}
	r.idleTimer.Stop()
}

// idleFor returns the time since the last call.
func (r *shared) idleFor() time.Duration { return time.Since(time.Unix(0, r.lastUsed.Load())) }

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
func (r *shared) instanceSuffix() string {
	if r.parent == nil {
		return ""
	}
	return " (instance of " + r.owner.name + ")"
}

// resend repeats a call whose connection was being closed because it was idle. The call has
// not been sent.
func (r *shared) resend(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
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
