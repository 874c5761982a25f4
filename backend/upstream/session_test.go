package upstream

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// The startup timeout begins when the server has been downloaded, within limits. A shorter
// timeout that the user has set is kept.
func TestDownloadDoesNotCountAgainstStartupTimeout(t *testing.T) {
	const usual = config.DefaultStartupTimeout
	for _, c := range []struct{ download, limit, least, most time.Duration }{
		{0, usual, usual, usual},
		{5 * time.Minute, usual, 5*time.Minute + usual, 5*time.Minute + usual + 2*fetchCheckInterval},
		{time.Hour, usual, usual + fetchLimit, usual + fetchLimit + fetchCheckInterval},
		{time.Hour, 10 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			ctx, cancel := StartupContext(t.Context(), c.limit, func() bool { return time.Since(began) < c.download })
			defer cancel()
			<-ctx.Done()
			if got := time.Since(began); got < c.least || got > c.most || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("a download of %s with a limit of %s: given up after %s, %v", c.download, c.limit, got, context.Cause(ctx))
			}
		})
	}
}
