package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStartProgressIsShownLive(t *testing.T) {
	var line atomic.Value
	line.Store("")
	var cached atomic.Bool
	inBubble(t, func(g *rig, o *Options) {
		o.DownloadingLauncher = func(string) string { return "npx" }
		o.Cached = func(*config.Server) bool { return cached.Load() }
		o.LastLines = func(_ string, n int, since time.Time) []string {
			if since.IsZero() || line.Load() == "" {
				return nil
			}
			return []string{line.Load().(string)}
		}
		g.start = slow(time.Minute)
	}, func(g *rig) {
		sub := g.bus.Subscribe(64)
		defer sub.Close()
		g.apply(server("a"))
		advance(3 * time.Second)
		assert.Equal(t, "downloading (npx)", g.want("a", core.StateStarting).Detail)
		line.Store("npm warn deprecated")
		advance(2 * time.Second)
		assert.Equal(t, "downloading (npx): npm warn deprecated", g.want("a", core.StateStarting).Detail)
		cached.Store(true)
		advance(2 * time.Second)
		assert.Equal(t, "npm warn deprecated", g.want("a", core.StateStarting).Detail)
		n := len(sub.Events())
		assert.Truef(t, n <= 6, "%d events about four things", n)
		advance(time.Minute)
		assert.Empty(t, g.want("a", core.StateRunning).Detail, "running, with detail")
	})
}

func remoteServerConfig(id string, more ...func(*config.Server)) config.Server {
	return server(id, append([]func(*config.Server){func(s *config.Server) {
		s.Type, s.Command, s.URL = core.HTTP, "", "https://example.com/mcp"
	}}, more...)...)
}

// statusError is a failed start that was caused by an HTTP status.
func statusError(status int, after time.Duration) error {
	return fmt.Errorf("cannot connect to server %q: %w", "web", &core.Error{Code: core.CodeUnavailable,
		Message: fmt.Sprintf("server %q responded with HTTP status %d", "web", status), Cause: &wire.StatusError{Status: status, After: after}})
}

var errRefused = &core.Error{Code: core.CodeUnavailable, Retriable: true, Unsent: true,
	Message: `server "web" cannot be reached: connection refused`, Cause: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}

// untilUp makes starts fail with err until up is set.
func untilUp(up *atomic.Bool, err error) func(*rig, *Options) {
	return func(g *rig, _ *Options) {
		g.start = func(context.Context, upstream.Request, int) (*core.Catalog, error) {
			if up.Load() {
				return nil, nil
			}
			return nil, err
		}
	}
}

// An unreachable remote server is retried indefinitely, regardless of maxAttempts, with delays
// that grow to a minute.
func TestUnreachableRemoteServerIsRetriedForever(t *testing.T) {
	for name, err := range map[string]error{
		"refused":             errRefused,
		"no such name":        &net.DNSError{Err: "no such host", IsNotFound: true},
		"no route":            &net.OpError{Op: "dial", Err: syscall.ENETUNREACH},
		"TLS broken off":      fmt.Errorf("reaching it: %w", io.EOF),
		"reset":               &net.OpError{Op: "read", Err: syscall.ECONNRESET},
		"start took too long": core.Errorf(core.CodeTimeout, "did not respond within 30s (startupTimeoutMs)"),
		"request timed out":   statusError(http.StatusRequestTimeout, 0),
		"too early":           statusError(http.StatusTooEarly, 0),
		"too many requests":   statusError(http.StatusTooManyRequests, 0),
		"bad gateway":         statusError(http.StatusBadGateway, 0),
		"unavailable":         statusError(http.StatusServiceUnavailable, 0),
		"gateway timed out":   statusError(http.StatusGatewayTimeout, 0),
	} {
		t.Run(name, func(t *testing.T) {
			var up atomic.Bool
			inBubble(t, untilUp(&up, err), func(g *rig) {
				g.apply(remoteServerConfig("web", func(s *config.Server) { s.Restart.MaxAttempts = 1 }))
				waiting := g.want("web", core.StateWaiting)
				assert.NotEmpty(t, waiting.Reason, "no reason")
				assert.Equal(t, strings.Contains(waiting.Reason, "no such host"), strings.Contains(waiting.Hint, "Check its address"))
				advance(10 * time.Minute)
				g.want("web", core.StateWaiting)
				starts := g.started("web")
				assert.Truef(t, len(starts) >= 12 && len(starts) <= 25, "%d starts in 10 minutes", len(starts))
				for i := 1; i < len(starts); i++ {
					d := starts[i].Sub(starts[i-1])
					assert.Truef(t, d <= maxRemoteBackoff && !(i > 8 && d < 40*time.Second), "pause %d is %s", i, d)
				}
				up.Store(true)
				advance(maxRemoteBackoff)
				g.want("web", core.StateRunning)
			})
		})
	}
}

// Permanent errors still make the server crash: the user has to act.
func TestInvalidRemoteResponseFailsServer(t *testing.T) {
	for name, err := range map[string]error{
		"403": statusError(http.StatusForbidden, 0), "404": statusError(http.StatusNotFound, 0), "410": statusError(http.StatusGone, 0),
		"500": statusError(http.StatusInternalServerError, 0), "not MCP": statusError(http.StatusOK, 0),
		"no HTTP": errors.New("malformed HTTP response"),
	} {
		t.Run(name, func(t *testing.T) {
			var up atomic.Bool
			inBubble(t, untilUp(&up, err), func(g *rig) {
				g.apply(remoteServerConfig("web"))
				advance(10 * time.Minute)
				g.want("web", core.StateFailed)
				assert.Equal(t, config.DefaultMaxAttempts, len(g.started("web")))
			})
		})
	}
}

// Indefinite retries apply only to remote servers. A local server that cannot be reached is a
// program that does not work.
func TestLocalServerIsGivenUpAfterFailedStarts(t *testing.T) {
	var up atomic.Bool
	inBubble(t, untilUp(&up, errRefused), func(g *rig) {
		g.apply(server("local"),
			remoteServerConfig("served", func(s *config.Server) { s.Command = "serve-it" }), // a program that serves its url
			server("entrypoint", func(s *config.Server) { s.Type, s.Command = core.Docker, "" }))
		advance(10 * time.Minute)
		for _, id := range []string{"local", "served", "entrypoint"} {
			g.want(id, core.StateFailed)
		}
	})
}

// A change of the network, or waking up from sleep, triggers an attempt immediately, even if the
// delay has grown to a minute.
func TestNetworkChangeRetriesWaitingServer(t *testing.T) {
	var up atomic.Bool
	inBubble(t, untilUp(&up, errRefused), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(10*time.Minute + 7*time.Second)
		g.want("web", core.StateWaiting)
		up.Store(true)
		for range 5 { // changes come in bursts
			g.NetworkChanged()
		}
		advance(minCallRetryInterval)
		g.want("web", core.StateRunning)
	})
}

// A change shortly after an attempt is not delayed until the next one, up to a minute later: the
// server is retried after minCallRetryInterval.
func TestNetworkChangeRightAfterAttemptIsNotLost(t *testing.T) {
	var up atomic.Bool
	inBubble(t, untilUp(&up, errRefused), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(10 * time.Minute)
		for n := len(g.started("web")); len(g.started("web")) == n; {
			advance(minCallRetryInterval / 10)
		}
		up.Store(true)
		g.NetworkChanged()
		advance(minCallRetryInterval)
		g.want("web", core.StateRunning)
	})
}

// An attempt over the old network may hang. It is aborted, and another one begins.
func TestNetworkChangeCancelsHangingAttempt(t *testing.T) {
	inBubble(t, starting(func(ctx context.Context, _ upstream.Request, n int) (*core.Catalog, error) {
		if n == 1 {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return nil, nil
	}), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(5 * time.Second)
		g.want("web", core.StateStarting)
		g.NetworkChanged()
		advance(0)
		g.want("web", core.StateRunning)
	})
}

// When the network changes, a running server is pinged and a crashed one is retried once.
func TestNetworkChangeLeavesRunningServerAlone(t *testing.T) {
	var up atomic.Bool
	inBubble(t, untilUp(&up, statusError(http.StatusForbidden, 0)), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(time.Minute)
		g.want("web", core.StateFailed)
		up.Store(true)
		g.NetworkChanged()
		advance(0)
		g.want("web", core.StateRunning)
		c := g.conn("web")
		g.NetworkChanged()
		advance(0)
		c.mu.Lock()
		pings := len(c.pingTimeouts)
		c.mu.Unlock()
		if pings != 1 || len(g.started("web")) != config.DefaultMaxAttempts+1 {
			t.Errorf("%d pings, %d starts", pings, len(g.started("web")))
		}
	})
}

// A call retries a waiting server immediately and is served by it. While the server is still
// unreachable, the call fails with the reason.
func TestCallRetriesWaitingServerImmediately(t *testing.T) {
	var up atomic.Bool
	inBubble(t, untilUp(&up, errRefused), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(10*time.Minute + 7*time.Second)
		before := len(g.started("web"))
		_, err := g.For(context.Background(), call("web"))
		message, _ := core.Describe(err)
		assert.True(t, core.CodeOf(err) == core.CodeUnavailable && strings.HasPrefix(message, `server "web" is not available (waiting): `), err)
		var calls sync.WaitGroup
		for range 100 { // regardless of the number of calls
			calls.Go(func() { _, _ = g.For(context.Background(), call("web")) })
		}
		began := time.Now()
		calls.Wait()
		n := len(g.started("web")) - before
		assert.Truef(t, n == 2 && time.Since(began) <= minCallRetryInterval, "%d starts for calls, in %s", n, time.Since(began))
		advance(minCallRetryInterval)
		up.Store(true)
		_, err = g.For(context.Background(), call("web"))
		assert.NoError(t, err)
		g.want("web", core.StateRunning)
	})
}

// A server that sends Retry-After is not retried earlier by calls or network changes. The user
// may retry it.
func TestRetryAfterIsHonored(t *testing.T) {
	var up atomic.Bool
	inBubble(t, untilUp(&up, statusError(http.StatusServiceUnavailable, 3*time.Minute)), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(2 * time.Minute)
		g.NetworkChanged()
		_, _ = g.For(context.Background(), call("web"))
		advance(0)
		assert.Equal(t, 1, len(g.started("web")))
		advance(time.Minute)
		assert.Equal(t, 2, len(g.started("web")))
		up.Store(true)
		require.NoError(t, g.Start(context.Background(), "web"))
		advance(0)
		g.want("web", core.StateRunning)
	})
}

// A lost remote server is retried immediately and then with delays. After ten minutes it
// reconnects within the maximum delay, and calls that arrive in between are served.
func TestLostRemoteServerReconnects(t *testing.T) {
	var up atomic.Bool
	up.Store(true)
	inBubble(t, untilUp(&up, errRefused), func(g *rig) {
		g.apply(remoteServerConfig("web", func(s *config.Server) { s.Restart.MaxAttempts = 1 }))
		g.want("web", core.StateRunning)
		g.conn("web").die()
		if _, err := g.For(context.Background(), call("web")); err != nil { // reachable again: a call is served
			t.Error(err)
		}
		up.Store(false)
		g.conn("web").die()
		advance(0)
		g.want("web", core.StateWaiting)
		advance(10 * time.Minute)
		assert.Equal(t, 1, g.want("web", core.StateWaiting).Tools)
		up.Store(true)
		advance(maxRemoteBackoff)
		g.want("web", core.StateRunning)
	})
}

// A stream that ends repeatedly is reopened with growing delays, not in a busy loop.
func TestShortLivedConnectionBacksOff(t *testing.T) {
	var up atomic.Bool
	up.Store(true)
	inBubble(t, untilUp(&up, errRefused), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		until := time.Now().Add(10 * time.Minute)
		for time.Now().Before(until) {
			g.conn("web").die()
			advance(time.Second)
		}
		n := len(g.started("web"))
		assert.Truef(t, n <= 40, "%d starts in 10 minutes", n)
	})
}

// While a server is unreachable, attempts do not change its state: lists do not wait for it, and
// subscribers receive one event.
func TestListDoesNotWaitForRetryingServer(t *testing.T) {
	inBubble(t, starting(func(ctx context.Context, _ upstream.Request, n int) (*core.Catalog, error) {
		if n > 1 { // the attempt hangs
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		return nil, errRefused
	}), func(g *rig) {
		g.apply(remoteServerConfig("web"))
		advance(5 * time.Second) // the second attempt is in progress
		require.Equal(t, 2, len(g.started("web")))
		g.want("web", core.StateWaiting)
		began := time.Now()
		g.WaitListed(context.Background(), "")
		assert.EqualValues(t, 0, time.Since(began), "the list waits")
	})
}
