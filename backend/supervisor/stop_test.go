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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.Equal(t, 0, left, time.Since(begin))
	})
}

func TestStopReturnsWhenAllProcessesEnded(t *testing.T) {
	inBubble(t, func(g *rig, _ *Options) { g.stopTime = 5 * time.Second }, func(g *rig) {
		g.apply(server("a"))
		begin := time.Now()
		err := g.Stop(context.Background(), "a")
		require.Truef(t, err == nil && time.Since(begin) == 5*time.Second, "%v after %s", err, time.Since(begin))
		g.want("a", core.StateStopped)
		if err := g.Stop(context.Background(), "a"); err != nil { // Stop is idempotent
			t.Fatal(err)
		}
		_ = g.Start(context.Background(), "a")
		synctest.Wait()
		g.want("a", core.StateRunning)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = g.Stop(ctx, "a")
		require.Truef(t, err == context.DeadlineExceeded, "got %v", err)
		require.Equal(t, "stopping the process", g.want("a", core.StateStopped).Reason)
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
	text := log.String()
	assert.True(t, !strings.Contains(text, "level=ERROR") && strings.Contains(text, `msg="MCP server did not stop in time and was killed" server=a`), text)
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
			require.NoError(t, err)
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
		assert.Equal(t, 2, g.processes(), "after a second")
		err := <-failed["slow"]
		assert.NoError(t, err, "the call that ends in time failed")
		advance(100 * time.Millisecond)
		assert.Equal(t, 1, g.processes())
		err = <-failed["hang"]
		assert.Error(t, err, "the call that hangs did not fail")
		<-g.ended
		assert.Equal(t, DrainLimit, time.Since(begin), "it took")
	})
}
