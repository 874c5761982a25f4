package supervisor

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestServersStopConcurrently(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 5 * time.Second }, func(g *rig) {
		var all []config.Server
		for i := range 20 {
			all = append(all, server(fmt.Sprintf("s%d", i)))
		}
		g.apply(all...)
		g.want("s19", core.StateRunning)
		begin := time.Now()
		g.apply() // stops the server as at shutdown
		advance(5 * time.Second)
		g.Supervisor.mu.Lock()
		left := len(g.Supervisor.all)
		g.Supervisor.mu.Unlock()
		if left != 0 {
			t.Errorf("%d of 20 servers are left after %s", left, time.Since(begin))
		}
	})
}

func TestStopReturnsWhenAllProcessesEnded(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 5 * time.Second }, func(g *rig) {
		g.apply(server("a"))
		begin := time.Now()
		if err := g.Stop(context.Background(), "a"); err != nil || time.Since(begin) != 5*time.Second {
			t.Fatalf("%v after %s", err, time.Since(begin))
		}
		g.want("a", core.StateStopped)
		if err := g.Stop(context.Background(), "a"); err != nil { // Stop is idempotent
			t.Fatal(err)
		}
		_ = g.Start(context.Background(), "a")
		synctest.Wait()
		g.want("a", core.StateRunning)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := g.Stop(ctx, "a"); err != context.DeadlineExceeded {
			t.Fatalf("got %v", err)
		}
		if st := g.want("a", core.StateStopped); st.Reason != "stopping the process" {
			t.Fatalf("got %q", st.Reason)
		}
	})
}

func TestServerKilledAtShutdownIsNoError(t *testing.T) {
	var log bytes.Buffer
	inBubble(t, func(g *rig, o *Options) {
		g.stopTime, o.Log = time.Minute, slog.New(slog.NewTextHandler(&log, nil))
	}, func(g *rig) {
		g.apply(server("a"))
		g.want("a", core.StateRunning)
		g.end()
		<-g.ended
	})
	if text := log.String(); strings.Contains(text, "level=ERROR") || !strings.Contains(text, `msg="MCP server did not stop in time and was killed" server=a`) {
		t.Error(text)
	}
}

// TestShutdownLetsInFlightCallsFinish checks that a server is stopped when its calls have ended,
// or after DrainLimit, and immediately if it has no calls.
func TestShutdownLetsInFlightCallsFinish(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("slow"), server("idle"), server("hang"))
		g.want("hang", core.StateRunning)
		failed := make(map[string]chan error)
		for _, id := range []string{"slow", "hang"} {
			c := call(id)
			c.Name = id
			up, err := g.For(context.Background(), c)
			must(t, err)
			failed[id] = make(chan error, 1)
			go func() {
				_, err := up.Send(context.Background(), c, nil)
				failed[id] <- err
			}()
		}
		synctest.Wait()
		begin := time.Now()
		g.end()
		advance(time.Second)
		if n := g.processes(); n != 2 {
			t.Errorf("after a second %d servers are there, not the two with a call", n)
		}
		if err := <-failed["slow"]; err != nil {
			t.Errorf("the call that ends in time failed: %v", err)
		}
		advance(100 * time.Millisecond)
		if n := g.processes(); n != 1 {
			t.Errorf("%d servers are there, not the one whose call hangs", n)
		}
		if err := <-failed["hang"]; err == nil {
			t.Error("the call that hangs did not fail")
		}
		<-g.ended
		if took := time.Since(begin); took != DrainLimit {
			t.Errorf("it took %s", took)
		}
	})
}
