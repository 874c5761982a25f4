package supervisor

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/config"
)

const (
	// fetchLimit is how long a launcher may fetch a server on top of the time for its start.
	fetchLimit = 8 * time.Minute
	fetchLook  = 2 * time.Second
)

// startupContext bounds a start. While a launcher still fetches the server the time for the start
// does not run out: npx that is killed in a download leaves half a package, over which each
// later start falls. A limit below the usual is approval and holds as it is.
func startupContext(ctx context.Context, limit time.Duration, fetching func() bool) (context.Context, context.CancelFunc) {
	if limit < config.DefaultStartupTimeout {
		return context.WithTimeout(ctx, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	last := time.Now().Add(limit + fetchLimit)
	go func() {
		defer close(ended)
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for fetched := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			switch left := time.Until(last); {
			case left > 0 && fetching():
				fetched = true
				timer.Reset(min(fetchLook, left))
			case left > 0 && fetched: // what has been fetched has its own time
				fetched = false
				timer.Reset(min(limit, left))
			default:
				cancel(context.DeadlineExceeded)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// fetching reports whether a server's launcher has not begun to run it.
func (r *runner) fetching() bool {
	return r.s.o.Fetching(r.id) != ""
}
