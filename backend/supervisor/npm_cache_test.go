package supervisor

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestBrokenPackageCopyIsReported(t *testing.T) {
	for printed, want := range map[string]string{
		"npm error ENOTEMPTY: directory not empty, rename '/root/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/zod' -> '/x'":       "/root/.npm/_npx/3f84b1f5a1b2c3d4",
		"Error: Cannot find module 'zod'\nRequire stack:\n- /home/a b/.npm/_npx/3f84b1f5a1b2c3d4/node_modules/x/dist/cli.js": "/home/a b/.npm/_npx/3f84b1f5a1b2c3d4",
		"sh: 1: mcp-server-memory: not found":                       "_npx",
		"Error: Cannot find module '/home/me/server.js'":            "",
		"started from /root/.npm/_npx/3f84b1f5a1b2c3d4 and is well": "",
	} {
		got := npxCacheHint(strings.Split(printed, "\n"))
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", printed, got)
		}
	}
}

// npx is stopped if it has printed its error but does not exit. Other npm output during a start
// is not a failure.
func TestNpmFailureEndsStartEarly(t *testing.T) {
	var said atomic.Value
	said.Store("npm warn deprecated x")
	inBubble(t, func(g *rig, o *Options) {
		o.Fetching = func(string) string { return "npx" }
		o.LastLines = func(string, int, time.Time) []string { return strings.Split(said.Load().(string), "\n") }
		g.start = func(ctx context.Context, _ Request, _ int) (*core.Catalog, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	}, func(g *rig) {
		g.apply(server("a", func(c *config.Server) { c.Restart.MaxAttempts = 1 }))
		advance(30 * time.Second)
		g.want("a", core.StateStarting)
		said.Store("npm error code E404\nnpm error 404 Not Found - GET https://r/x\nnpm error A complete log of this run can be found in: /x")
		advance(npmFailedLimit*time.Second + time.Second)
		if st, _ := g.Status("a"); st.State == core.StateStarting || !strings.Contains(st.Reason, "npm error code E404: Not Found") {
			t.Errorf("%+v", st)
		}
	})
}

// The startup timeout begins when the server has been downloaded, within limits. A shorter
// timeout that the user has set is kept.
func TestDownloadDoesNotCountAgainstStartupTimeout(t *testing.T) {
	fetched := func(after time.Duration, limit time.Duration) (failed time.Duration) {
		inBubble(t, func(g *rig, o *Options) {
			began := time.Now()
			o.Fetching = func(string) string {
				if time.Since(began) < after {
					return "npx"
				}
				return ""
			}
			g.start = func(ctx context.Context, _ Request, n int) (*core.Catalog, error) {
				<-ctx.Done()
				if n == 1 {
					failed = time.Since(began)
				}
				return nil, context.Cause(ctx)
			}
		}, func(g *rig) {
			g.apply(server("a", func(c *config.Server) { c.StartupTimeout, c.Restart.MaxAttempts = limit, 1 }))
			advance(30 * time.Minute)
			if st, _ := g.Status("a"); !strings.Contains(st.Reason, "did not answer within "+limit.String()) {
				t.Errorf("%+v", st)
			}
		})
		return failed
	}
	const usual = config.DefaultStartupTimeout
	for _, c := range []struct{ download, limit, least, most time.Duration }{
		{0, usual, usual, usual},
		{5 * time.Minute, usual, 5*time.Minute + usual, 5*time.Minute + usual + 2*fetchCheckInterval},
		{time.Hour, usual, usual + fetchLimit, usual + fetchLimit + fetchCheckInterval},
		{time.Hour, 10 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		if got := fetched(c.download, c.limit); got < c.least || got > c.most {
			t.Errorf("a download of %s with a limit of %s: given up after %s", c.download, c.limit, got)
		}
	}
}
