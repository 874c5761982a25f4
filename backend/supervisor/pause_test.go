package supervisor

import (
	"context"
	"strings"
	"testing"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/config"
)

func TestPauseHoldsEveryServerBackUntilItEnds(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		lazy := server("lazy")
		lazy.Start = config.StartOnDemand
		off := server("off")
		off.Disabled = true
		g.apply(server("a"), lazy, off)
		pass(time.Second)
		g.want("a", hub.StateRunning)
		if err := g.Supervisor.SetPaused(context.Background(), true); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"a", "lazy"} {
			if st := g.want(id, hub.StateStopped); !strings.Contains(st.Reason, "paused") {
				t.Errorf("%s: %q", id, st.Reason)
			}
		}
		g.want("off", hub.StateDisabled)
		before := len(g.started("a")) + len(g.started("lazy"))
		_, err := g.Supervisor.For(context.Background(), &hub.Call{Server: "lazy"})
		if hub.CodeOf(err) != hub.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call gets %v", err)
		}
		if err := g.Supervisor.Start(context.Background(), "a"); err == nil {
			t.Error("a command starts a server in the pause")
		}
		changed := server("a")
		changed.Args = []string{"other"}
		g.apply(changed, lazy, off, server("new"))
		pass(time.Hour)
		g.want("a", hub.StateStopped)
		g.want("new", hub.StateStopped)
		if after := len(g.started("a")) + len(g.started("lazy")); after != before || len(g.started("new")) != 0 {
			t.Fatalf("%d starts in the pause", after-before)
		}
		if err := g.Supervisor.SetPaused(context.Background(), false); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		g.want("a", hub.StateRunning)
		g.want("new", hub.StateRunning)
		if _, err := g.Supervisor.For(context.Background(), &hub.Call{Server: "lazy"}); err != nil {
			t.Error(err)
		}
	})
}
