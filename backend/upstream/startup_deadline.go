package upstream

import (
	"context"
	"time"

	"github.com/drawbridge-mcp/drawbridge/config"
)

const (
	// fetchLimit is how long a launcher may download a server, in addition to the startup timeout.
	fetchLimit         = 8 * time.Minute
	fetchCheckInterval = 2 * time.Second
)

// StartupContext returns the context of a start. While a launcher downloads the server, the
// startup timeout does not run: if npx is killed during a download it leaves half a package,
// and every later start fails. A limit below the default was set by the user and is kept.
func StartupContext(ctx context.Context, limit time.Duration, fetching func() bool) (context.Context, context.CancelFunc) {
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
				timer.Reset(min(fetchCheckInterval, left))
			case left > 0 && fetched: // the download is over: the startup timeout begins
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

// StartupTimeout returns the startup timeout of c, which bounds a start.
func StartupTimeout(c *config.Server) time.Duration {
	if c.StartupTimeout <= 0 {
		return config.DefaultStartupTimeout
	}
	return c.StartupTimeout
}
