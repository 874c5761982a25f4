package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func modernCall(server string) *core.Call {
	c := call(server)
	c.Era = core.Modern
	return c
}

func TestEachEraHasItsConnectionAndIsRemembered(t *testing.T) {
	m := newMemory()
	start := failingIf(func(r upstream.Request) bool { return r.Era == core.Modern && r.Server.ID == "old" }, errors.New("method not found"))
	for run := range 2 {
		inBubble(t, func(g *rig, o *Options) { o.Eras, g.start = m, start }, func(g *rig) {
			g.apply(server("dual"), server("old"))
			for range 3 {
				for id, want := range map[string]string{"dual": "dualmodern#1", "old": "old#1"} {
					c := modernCall(id)
					if _, err := g.For(context.Background(), c); err != nil || c.Instance != want {
						t.Errorf("run %d: %q serves %s, want %q: %v", run, c.Instance, id, want, err)
					}
					l := call(id)
					if _, err := g.For(context.Background(), l); err != nil || l.Instance != id+"#1" {
						t.Errorf("run %d: %q serves a legacy call of %s: %v", run, l.Instance, id, err)
					}
				}
			}
			assert.Equal(t, 1-run, len(g.started("oldmodern")))
			for _, want := range []string{"dualmodern#2", "dual#1"} { // a second crash within a short time is not repaired at once
				g.conn("dualmodern").die()
				c := modernCall("dual")
				if _, err := g.For(context.Background(), c); err != nil || c.Instance != want {
					t.Errorf("after a crash %q serves: %v", c.Instance, err)
				}
			}
			g.want("dual", core.StateRunning)
			advance(crashedRetryInterval)
			c := modernCall("dual")
			if _, err := g.For(context.Background(), c); err != nil || c.Instance != "dualmodern#3" {
				t.Errorf("later %q serves: %v", c.Instance, err)
			}
		})
	}
}

// A request about a task waits for a connection of the era of the task, and is never sent to the
// other connection of the server, which would know nothing of the task or describe it in another
// form.
func TestRequestAboutATaskIsServedOnlyInItsEra(t *testing.T) {
	const opening = 2 * modernWaitLimit
	fail := false
	inBubble(t, starting(func(_ context.Context, r upstream.Request, n int) (*core.Catalog, error) {
		if r.Era == core.Modern && fail {
			return nil, errors.New("the server does not start")
		}
		if r.Era == core.Modern && n > 1 {
			time.Sleep(opening)
		}
		return nil, nil
	}), func(g *rig) {
		request := func(era core.Era, want string) {
			t.Helper()
			for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel", core.SubscribeTask} {
				c := call("a")
				c.Era, c.Method = era, method
				_, err := g.For(context.Background(), c)
				if failure, _ := errors.AsType[*core.Error](err); c.Instance != want || want == "" && (failure == nil || !failure.Retriable || !strings.Contains(failure.Message, "which the task requires")) {
					t.Errorf("%s %s: %q serves, want %q: %v", era, method, c.Instance, want, err)
				}
			}
		}
		g.apply(server("a"))
		request(core.Modern, "amodern#1")
		g.conn("amodern").die()
		begin := time.Now()
		request(core.Modern, "amodern#2")
		assert.Equal(t, opening, time.Since(begin), "the connection was open")
		advance(crashedRetryInterval)
		fail = true
		g.conn("amodern").die()
		request(core.Modern, "")
		request(core.Legacy, "a#1")
		c := modernCall("a")
		if _, err := g.For(context.Background(), c); err != nil || c.Instance != "a#1" {
			t.Errorf("%q serves an ordinary call: %v", c.Instance, err)
		}
		fail = false
		advance(crashedRetryInterval)
		request(core.Modern, "amodern#4") // the third start failed
	})
}

// What a server declares only in server/discover is offered from the first modern connection on,
// also while that connection is lost.
func TestCapabilitiesOfTheModernEraAreOffered(t *testing.T) {
	const legacy, modern = `{"tools":{}}`, `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	inBubble(t, starting(func(_ context.Context, r upstream.Request, _ int) (*core.Catalog, error) {
		declared := map[core.Era]string{core.Modern: modern}[r.Era]
		return &core.Catalog{Capabilities: json.RawMessage(cmp.Or(declared, legacy))}, nil
	}), func(g *rig) {
		g.apply(server("a"))
		want := func(modern string) {
			t.Helper()
			view, _ := g.registry.Server("a")
			offered := view.Offers()[0].Catalog
			if got := string(offered.CapabilitiesIn(core.Modern)); got != modern || string(offered.Capabilities) != legacy {
				t.Errorf("%s is offered to modern clients, %s to legacy ones", got, offered.Capabilities)
			}
		}
		want(legacy)
		_, err := g.For(context.Background(), modernCall("a"))
		require.NoError(t, err)
		synctest.Wait()
		want(modern)
		g.conn("amodern").die()
		synctest.Wait()
		want(modern)
	})
}

func TestSlowProbeDelaysModernCallsOnlyBriefly(t *testing.T) {
	inBubble(t, starting(func(ctx context.Context, r upstream.Request, n int) (*core.Catalog, error) {
		if r.Era == core.Modern {
			return hang(ctx, r, n)
		}
		return nil, nil
	}), func(g *rig) {
		g.apply(server("a"))
		for _, want := range []time.Duration{modernWaitLimit, 0} {
			begin := time.Now()
			c := modernCall("a")
			if _, err := g.For(context.Background(), c); err != nil || c.Instance != "a#1" || time.Since(begin) != want {
				t.Errorf("%q serves after %s: %v", c.Instance, time.Since(begin), err)
			}
		}
		if err := g.Stop(context.Background(), "a"); err != nil { // a probe in progress ends with its server
			t.Fatal(err)
		}
		g.want("a", core.StateStopped)
	})
}

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
		_, err := g.For(context.Background(), call("files"))
		require.Equal(t, core.CodeUnauthorized, core.CodeOf(err), "nobody has signed")
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
		require.NoError(t, <-answer)
	})
}
