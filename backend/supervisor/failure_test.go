package supervisor

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
)

// npx is stopped if it has printed its error but does not exit. Other npm output during a start
// is not a failure.
func TestNpmFailureEndsStartEarly(t *testing.T) {
	var said atomic.Value
	said.Store("npm warn deprecated x")
	inBubble(t, func(g *rig, o *Options) {
		o.DownloadingLauncher = func(string) string { return "npx" }
		o.LastLines = func(string, int, time.Time) []string { return strings.Split(said.Load().(string), "\n") }
		g.start = func(ctx context.Context, _ upstream.Request, _ int) (*core.Catalog, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	}, func(g *rig) {
		g.apply(server("a", func(c *config.Server) { c.Restart.MaxAttempts = 1 }))
		advance(30 * time.Second)
		g.want("a", core.StateStarting)
		said.Store("npm error code E404\nnpm error 404 Not Found - GET https://r/x\nnpm error A complete log of this run can be found in: /x")
		advance(npmFailedLimit*time.Second + time.Second)
		st, _ := g.Status("a")
		assert.Truef(t, st.State != core.StateStarting && strings.Contains(st.Reason, "npm error code E404: Not Found"), "%+v", st)
	})
}
