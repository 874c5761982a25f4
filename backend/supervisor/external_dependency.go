package supervisor

import (
	"context"
	"errors"
	"time"
)

// missingDependency is the failure of a start for want of something outside. again returns when
// another start may succeed, or with an error when it cannot tell.
type missingDependency struct {
	error
	again func(ctx context.Context) error
}

func (a *missingDependency) Unwrap() error { return a.error }

// eager is the least time between the end of one start and a next that again brought
// about, so that what flickers outside costs little.
const eager = 100 * time.Millisecond

// watchDependency starts the server early when what it waits for is there. The timer of the
// phase goes on beside it.
func (r *runner) watchDependency() {
	if r.returns == nil || r.outside != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	again, n := r.returns, r.starts
	r.outside = cancel
	r.helpers.Go(func() {
		defer cancel()
		if !sleep(ctx, eager) || again(ctx) != nil {
			return
		}
		r.post(func() {
			if r.state.phase == phaseWaiting && r.starts == n {
				r.step(evTimer)
			}
		})
	})
}

// stopWatchingDependency ends what watchDependency began.
func (r *runner) stopWatchingDependency() {
	if r.outside != nil {
		r.outside()
		r.outside = nil
	}
}

// recordMissingDependency keeps what to wait for after a start failed with err.
func (r *runner) recordMissingDependency(err error) {
	r.returns = nil
	if a, ok := errors.AsType[*missingDependency](err); ok {
		r.returns = a.again
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
