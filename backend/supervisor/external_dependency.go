package supervisor

import (
	"context"
	"errors"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

// minRestartInterval is the minimum time between the end of one start and the next one that a
// returning dependency triggers, so that a dependency that comes and goes costs little.
const minRestartInterval = 100 * time.Millisecond

// watchDependency starts the server as soon as the missing dependency is there. The backoff
// timer keeps running meanwhile, and fires earlier if waiting turns out to be useless.
func (r *runner) watchDependency() {
	if r.awaitDependency == nil || r.cancelDependencyWait != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	wait, n := r.awaitDependency, r.starts
	r.cancelDependencyWait = cancel
	r.helpers.Go(func() {
		defer cancel()
		if !core.Sleep(ctx, minRestartInterval) {
			return
		}
		err := wait(ctx)
		if ctx.Err() != nil {
			return
		}
		r.post(func() {
			switch {
			case r.state.phase != phaseWaiting || r.starts != n:
			case err == nil:
				r.step(evTimer)
			case !r.needsLogin:
				r.retryTimer.Reset(jitter(dependencyRetryDelay))
			}
		})
	})
}

// stopWatchingDependency ends watchDependency.
func (r *runner) stopWatchingDependency() {
	if r.cancelDependencyWait != nil {
		r.cancelDependencyWait()
		r.cancelDependencyWait = nil
	}
}

// recordMissingDependency remembers what to wait for if err is a upstream.MissingDependency.
func (r *runner) recordMissingDependency(err error) {
	r.awaitDependency = nil
	if a, ok := errors.AsType[*upstream.MissingDependency](err); ok {
		r.awaitDependency = a.Wait
	}
}
