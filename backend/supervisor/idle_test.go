package supervisor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func idle(after time.Duration) func(*config.Server) {
	return func(s *config.Server) { s.IdleStop = after }
}

func TestIdleServerStopsAndStaysListed(t *testing.T) {
	for _, start := range []string{config.StartAuto, config.StartOnDemand, config.StartManual} {
		t.Run(start, func(t *testing.T) {
			inBubble(t, nil, func(g *rig) {
				g.apply(server("a", idle(5*time.Minute), func(s *config.Server) { s.Start = start }), server("b"))
				if start == config.StartManual {
					_ = g.Start(context.Background(), "a")
					synctest.Wait()
				}
				advance(4 * time.Minute)
				up, err := g.For(context.Background(), call("a"))
				require.NoError(t, err)
				_, _ = up.Send(context.Background(), call("a"), nil)
				advance(4 * time.Minute)
				g.want("a", core.StateRunning) // the call counts, heartbeats do not
				advance(2 * time.Minute)
				st := g.want("a", core.StateStopped)
				assert.Truef(t, strings.HasPrefix(st.Reason, "idle for 5m"), "reason %q", st.Reason)
				_, ok := g.registry.All().Lookup(core.Tools, "a__read")
				assert.True(t, ok, "its tools are gone")
				g.want("b", core.StateRunning)
				_, err = g.For(context.Background(), call("a"))
				require.NoError(t, err)
				g.want("a", core.StateRunning)
			})
		})
	}
}

func TestInFlightCallPreventsIdleStop(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a", idle(time.Minute)))
		ctx, cancel := context.WithCancel(context.Background())
		ended := g.hangingCall(ctx, call("a"))
		advance(time.Hour)
		g.want("a", core.StateRunning)
		cancel()
		<-ended
		advance(2 * time.Minute)
		g.want("a", core.StateStopped)
	})
}

func TestCallDuringIdleStopIsServed(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 2 * time.Second }, func(g *rig) {
		g.apply(server("a", idle(time.Minute)))
		c := call("a")
		up, err := g.For(context.Background(), c) // found, but not used before the server is stopped
		require.NoError(t, err)
		advance(2 * time.Minute)
		g.want("a", core.StateStopped)
		_, err = up.Send(context.Background(), c, nil)
		require.NoError(t, err, "the call fell between two stools")
		require.Equal(t, "a#2", c.Instance)
	})
}

type admission struct{ err error }

func (a admission) Readmit() error { return a.err }

// A call that waits for a process of its own, or that is sent to the next process because the first
// one stopped as idle, is admitted again before it is sent.
func TestCallIsAdmittedAgainBeforeAnotherProcessGetsIt(t *testing.T) {
	for name, kind := range map[string]func(*config.Server){"idle": idle(time.Minute), "per call": session(config.SessionPerCall)} {
		inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
			g.apply(server("a", kind))
			up, err := g.For(context.Background(), call("a"))
			require.NoError(t, err)
			advance(2 * time.Minute)
			for _, want := range []error{core.Errorf(core.CodeRejected, "not any more"), nil} {
				if _, err := up.Send(core.WithReadmitter(context.Background(), admission{want}), call("a"), nil); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
		})
	}
}

// The fake clock does not distinguish sleep of the machine, so these tests check how the runner
// handles one unanswered ping.
func TestPingIsRepeatedAfterSleep(t *testing.T) {
	for name, c := range map[string]struct {
		slept time.Duration
		lost  bool
	}{"awake": {0, true}, "asleep": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(g *rig) {
				g.apply(server("a"))
				r := g.fleet.Load().byID["a"]
				asked := false
				_ = r.ask(context.Background(), func() error {
					r.primary.lastHeard.Store(time.Now().Add(-c.slept - time.Hour).UnixNano()) // silent for a long time
					r.pingInFlight, r.pingSentAt = true, time.Now().Add(-c.slept-pingTimeout)
					r.pingAnswered(r.primary, errBoom)
					asked = r.pingInFlight
					return nil
				})
				advance(time.Second)
				assert.NotEqual(t, c.lost, asked, "asked again")
				restarted := len(g.started("a")) == 2
				assert.Equal(t, c.lost, restarted)
				g.want("a", core.StateRunning)
			})
		})
	}
}

func TestPingFailsAfterFiveSeconds(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		g.conn("a").silence()
		began, degraded := time.Now(), time.Duration(0)
		for degraded == 0 && time.Since(began) < 2*time.Minute {
			advance(time.Second)
			if r := g.Statuses()[0]; r.State == core.StateDegraded {
				degraded = time.Since(began)
			}
		}
		c := g.conn("a")
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.pingTimeouts) == 0 || c.pingTimeouts[0] != 5*time.Second {
			t.Errorf("pings have %s", c.pingTimeouts)
		}
		if heartbeat := 30 * time.Second; degraded < 5*time.Second || degraded > heartbeat+6*time.Second {
			t.Errorf("degraded after %s", degraded)
		}
	})
}
