package supervisor

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Between the end of a sign-in and the following start, the server's state is still needs-login.
// A call in between, as from a script after `drawbridge login`, waits for the start.
func TestCallAfterSignInWaitsForStart(t *testing.T) {
	var state atomic.Value
	state.Store(core.LoginNeeded)
	signed := make(chan struct{})
	inBubble(t, func(g *rig, o *Options) {
		o.Logins = func(string) (core.LoginState, string) { return state.Load().(core.LoginState), "" }
		signed = make(chan struct{})
		g.start = func(_ context.Context, _ upstream.Request, n int) (*core.Catalog, error) {
			if n > 1 {
				return nil, nil
			}
			return nil, &upstream.MissingDependency{Cause: fmt.Errorf("%w: %w", upstream.ErrDependencyMissing, core.ErrNeedsLogin), Wait: func(ctx context.Context) error {
				select {
				case <-signed:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}}
		}
	}, func(g *rig) {
		g.apply(server("files", func(s *config.Server) { s.Type, s.URL = core.HTTP, "http://localhost:1/mcp" }))
		advance(10 * time.Second)
		g.want("files", core.StateNeedsSignIn)
		if _, err := g.For(context.Background(), call("files")); core.CodeOf(err) != core.CodeUnauthorized {
			t.Fatalf("nobody has signed in: %v", err)
		}
		state.Store(core.LoginDone)
		answer := make(chan error, 1)
		go func() { _, err := g.For(context.Background(), call("files")); answer <- err }()
		synctest.Wait()
		select {
		case err := <-answer:
			t.Fatalf("refused at once: %v", err)
		default:
		}
		close(signed)
		must(t, <-answer)
	})
}
