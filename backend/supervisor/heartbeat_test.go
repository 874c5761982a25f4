package supervisor

import (
	"context"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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
				if asked == c.lost {
					t.Errorf("asked again: %v", asked)
				}
				if restarted := len(g.started("a")) == 2; restarted != c.lost {
					t.Errorf("restarted: %v", restarted)
				}
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
