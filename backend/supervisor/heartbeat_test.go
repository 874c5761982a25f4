package supervisor

import (
	"context"
	"testing"
	"time"

	"drawbridge/backend/hub"
)

// The clock of a bubble does not tell sleeping from waking, so these look at what
// the runner makes of one unanswered ping.
func TestPingThatSleptThroughIsAskedAgain(t *testing.T) {
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
					r.primary.heard.Store(time.Now().Add(-c.slept - time.Hour).UnixNano()) // silent for long
					r.pinging, r.pinged = true, time.Now().Add(-c.slept-pingTimeout)
					r.answered(r.primary, errBoom)
					asked = r.pinging
					return nil
				})
				pass(time.Second)
				if asked == c.lost {
					t.Errorf("asked again: %v", asked)
				}
				if restarted := len(g.started("a")) == 2; restarted != c.lost {
					t.Errorf("restarted: %v", restarted)
				}
				g.want("a", hub.StateRunning)
			})
		})
	}
}
