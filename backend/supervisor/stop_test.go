package supervisor

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/config"
)

func TestAllServersAreStoppedSideBySide(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 5 * time.Second }, func(g *rig) {
		var all []config.Server
		for i := range 20 {
			all = append(all, server(fmt.Sprintf("s%d", i)))
		}
		g.apply(all...)
		g.want("s19", hub.StateRunning)
		begin := time.Now()
		g.apply() // the same way as at the end of the program
		pass(5 * time.Second)
		g.Supervisor.mu.Lock()
		left := len(g.Supervisor.all)
		g.Supervisor.mu.Unlock()
		if left != 0 {
			t.Errorf("%d of 20 servers are left after %s", left, time.Since(begin))
		}
	})
}

func TestAThousandRestartsLeaveNothingBehind(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = time.Millisecond }, func(g *rig) {
		g.apply(server("a"))
		for range 1000 {
			if err := g.Restart(context.Background(), "a"); err != nil {
				t.Fatal(err)
			}
			pass(10 * time.Millisecond)
		}
		if st := g.want("a", hub.StateRunning); st.Restarts != 1000 || len(g.started("a")) != 1001 {
			t.Fatalf("%d restarts, %d starts", st.Restarts, len(g.started("a")))
		}
	})
}

func TestStopReturnsWhenNothingIsLeft(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 5 * time.Second }, func(g *rig) {
		g.apply(server("a"))
		begin := time.Now()
		if err := g.Stop(context.Background(), "a"); err != nil || time.Since(begin) != 5*time.Second {
			t.Fatalf("%v after %s", err, time.Since(begin))
		}
		g.want("a", hub.StateStopped)
		if err := g.Stop(context.Background(), "a"); err != nil { // twice is once
			t.Fatal(err)
		}
		_ = g.Start(context.Background(), "a")
		synctest.Wait()
		g.want("a", hub.StateRunning)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := g.Stop(ctx, "a"); err != context.DeadlineExceeded {
			t.Fatalf("got %v", err)
		}
		if st := g.want("a", hub.StateStopped); st.Reason != "ending the process" {
			t.Fatalf("got %q", st.Reason)
		}
	})
}
