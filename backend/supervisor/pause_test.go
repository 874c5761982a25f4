package supervisor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestPauseHoldsEveryServerUntilResumed(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		lazy := server("lazy")
		lazy.Start = config.StartOnDemand
		off := server("off")
		off.Disabled = true
		g.apply(server("a"), lazy, off)
		advance(time.Second)
		g.want("a", core.StateRunning)
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		for _, id := range []string{"a", "lazy"} {
			if st := g.want(id, core.StatePaused); st.Reason != "" {
				t.Errorf("%s: %q", id, st.Reason)
			}
		}
		g.want("off", core.StateDisabled)
		before := len(g.started("a")) + len(g.started("lazy"))
		_, err := g.Supervisor.For(context.Background(), &core.Call{Server: "lazy"})
		if core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call gets %v", err)
		}
		if err := g.Supervisor.Start(context.Background(), "a"); err == nil {
			t.Error("a command starts a server in the pause")
		}
		changed := server("a")
		changed.Args = []string{"other"}
		g.apply(changed, lazy, off, server("new"))
		advance(time.Hour)
		g.want("a", core.StatePaused)
		g.want("new", core.StatePaused)
		if after := len(g.started("a")) + len(g.started("lazy")); after != before || len(g.started("new")) != 0 {
			t.Fatalf("%d starts in the pause", after-before)
		}
		must(t, g.Supervisor.SetPaused(context.Background(), false))
		advance(time.Second)
		g.want("a", core.StateRunning)
		g.want("new", core.StateRunning)
		if _, err := g.Supervisor.For(context.Background(), &core.Call{Server: "lazy"}); err != nil {
			t.Error(err)
		}
	})
}

func TestPauseHoldsBackPerCallServer(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerCall)))
		advance(time.Second)
		earlier, err := g.Supervisor.For(context.Background(), call("a"))
		must(t, err)
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		if _, err := g.Supervisor.For(context.Background(), call("a")); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call during the pause gets %v", err)
		}
		// A call that got its upstream before the pause must not start a process either.
		if _, err := earlier.Send(context.Background(), call("a"), nil); core.CodeOf(err) != core.CodeUnavailable || !strings.Contains(err.Error(), "paused") {
			t.Errorf("a call that was admitted before the pause gets %v", err)
		}
		if n := g.processes(); n != 0 {
			t.Errorf("%d processes during the pause", n)
		}
		must(t, g.Supervisor.SetPaused(context.Background(), false))
		up, err := g.Supervisor.For(context.Background(), call("a"))
		if err == nil {
			_, err = up.Send(context.Background(), call("a"), nil)
		}
		if err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
}

func TestPauseEndsPerCallProcesses(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.several = true }, func(g *rig) {
		g.apply(server("a", session(config.SessionPerCall)))
		advance(time.Second)
		ended := g.hangingCall(context.Background(), call("a"))
		advance(time.Second)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		must(t, g.Supervisor.SetPaused(ctx, true))
		if n := g.processes(); n != 0 {
			t.Errorf("%d processes run when the pause is reported as done", n)
		}
		if err := <-ended; err == nil {
			t.Error("the call that was running reports success")
		}
	})
}

func TestInterruptedPauseIsCompletedByNextRequest(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"), server("b"))
		advance(time.Second)
		over, cancel := context.WithCancel(context.Background())
		cancel() // the client of the pause request has disconnected
		_ = g.Supervisor.SetPaused(over, true)
		advance(time.Minute)
		for _, id := range []string{"a", "b"} {
			if _, err := g.Supervisor.For(context.Background(), call(id)); err == nil || !strings.Contains(err.Error(), "paused") {
				t.Errorf("%s serves a call although all servers are paused: %v", id, err)
			}
		}
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		if n := g.processes(); n != 0 {
			t.Errorf("%d processes run when the second request returns", n)
		}
	})
}

func TestPauseForAnHourResumesServers(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		must(t, g.Supervisor.PauseFor(context.Background(), time.Hour))
		until := time.Now().Add(time.Hour)
		if at := g.Supervisor.PausedUntil(); !at.Equal(until) {
			t.Errorf("paused until %v, want %v", at, until)
		}
		_, err := g.Supervisor.For(context.Background(), call("a"))
		if err == nil || !strings.Contains(err.Error(), "paused until "+until.Format("15:04")) {
			t.Errorf("a call gets %v", err)
		}
		advance(time.Hour - time.Second)
		g.want("a", core.StatePaused)
		advance(2 * time.Second)
		g.want("a", core.StateRunning)
		if g.Supervisor.Paused() || !g.Supervisor.PausedUntil().IsZero() {
			t.Error("the pause has not ended")
		}
	})
}

func TestNewerPauseReplacesHourOfPause(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		advance(time.Second)
		must(t, g.Supervisor.PauseFor(context.Background(), time.Hour))
		must(t, g.Supervisor.SetPaused(context.Background(), true))
		advance(2 * time.Hour)
		g.want("a", core.StatePaused)
		if !g.Supervisor.PausedUntil().IsZero() {
			t.Error("the unlimited pause has an end")
		}
	})
}

func TestPauseIsANotice(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		for _, on := range []bool{true, false} {
			must(t, g.Supervisor.SetPaused(context.Background(), on))
			n := g.Supervisor.Notices()
			if shown := len(n) == 1 && n[0].Subject == PausedSubject; shown != on {
				t.Errorf("paused %v: %+v", on, n)
			}
		}
	})
}
