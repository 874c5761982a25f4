package supervisor

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExitingServerIsTriedFiveTimesWithBackoff(t *testing.T) {
	inBubble(t, starting(failingIf(func(r upstream.Request) bool { return r.Server.ID == "bad" }, errBoom)), func(g *rig) {
		g.apply(server("bad"), server("good"))
		advance(24 * time.Hour)
		starts := g.started("bad")
		require.Len(t, starts, 5)
		for i, want := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			got := starts[i+1].Sub(starts[i])
			assert.Truef(t, got >= want*8/10 && got <= want*12/10, "pause %d is %s, want %s ±20%%", i+1, got, want)
		}
		st := g.want("bad", core.StateFailed)
		if st.Reason != "exited with status 3; last output: last words; gave up after 5 starts" || st.Detail != "last words" || st.ExitCode == nil || *st.ExitCode != 3 {
			t.Errorf("got %+v", st)
		}
		g.want("good", core.StateRunning)
		assert.Len(t, g.started("good"), 1, "the other server was touched")
	})
}

func TestReasonOfASentenceContinuesWithoutItsFullStop(t *testing.T) {
	lines := func(g *rig, o *Options) {
		starting(failingIf(func(upstream.Request) bool { return true }, errBoom))(g, o)
		o.LastLines = func(string, int, time.Time) []string { return []string{"API key missing. Set API_KEY."} }
	}
	inBubble(t, lines, func(g *rig) {
		g.apply(server("bad"))
		advance(time.Second / 2)
		assert.Contains(t, g.want("bad", core.StateRestarting).Reason, "Set API_KEY; retrying (")
		advance(24 * time.Hour)
		st := g.want("bad", core.StateFailed)
		assert.Truef(t, strings.HasSuffix(st.Reason, "Set API_KEY; gave up after 5 starts") && st.Remedy.Name == "API_KEY", "%+v", st)
	})
	assert.Equal(t, "loading...", clause("loading..."))
}

// Jitter prevents servers that failed together from being restarted together.
func TestBackoffHasTwentyPercentJitter(t *testing.T) {
	least, most := time.Hour, time.Duration(0)
	for i := range 2000 { // the clock may stand still meanwhile
		d := (&runner{shared: shared{id: strconv.Itoa(i)}}).jitter(time.Second)
		least, most = min(least, d), max(most, d)
	}
	if least < 800*time.Millisecond || least > 850*time.Millisecond || most > 1200*time.Millisecond || most < 1150*time.Millisecond {
		t.Errorf("pauses of a second last from %s to %s", least, most)
	}
}

func TestBackoffDoublesUpToLimit(t *testing.T) {
	c := config.Restart{Backoff: time.Second, MaxBackoff: time.Minute}
	for failures, want := range []time.Duration{0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60} {
		assert.Equalf(t, want*time.Second, backoff(c, failures), "after %d", failures)
	}
	c.Strategy = config.RestartFixed
	assert.Equal(t, time.Second, backoff(c, 7))
}

func TestHalfMinuteUptimeKeepsFailureCount(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		for range 5 {
			advance(30 * time.Second)
			g.want("a", core.StateRunning)
			g.conn("a").die()
		}
		advance(time.Minute)
		g.want("a", core.StateFailed)
	})
}

func TestHealthyMinuteResetsFailureCount(t *testing.T) {
	inBubble(t, starting(failing(3, errBoom)), func(g *rig) {
		g.apply(server("a"))
		advance(10 * time.Minute)
		g.want("a", core.StateRunning)
		before := time.Now()
		g.conn("a").die()
		advance(time.Minute)
		g.want("a", core.StateRunning)
		starts := g.started("a")
		if len(starts) != 5 || starts[4].Sub(before) > time.Second {
			t.Fatalf("restarted %s after the crash", starts[len(starts)-1].Sub(before))
		}
	})
}

func TestWrongCommandIsNotRetriedUntilConfigChanges(t *testing.T) {
	notFound := &core.Error{Code: core.CodeValidation, Message: "executable not found", Hint: "Correct the command."}
	inBubble(t, starting(failingIf(func(r upstream.Request) bool { return r.Server.Command == "wrong" }, notFound)), func(g *rig) {
		g.apply(server("a", func(s *config.Server) { s.Command = "wrong" }))
		advance(time.Hour)
		if st := g.want("a", core.StateFailed); st.Reason != "executable not found" || len(g.started("a")) != 1 {
			t.Fatalf("%d starts; %+v", len(g.started("a")), st)
		}
		st, _ := g.Status("a")
		assert.Equal(t, "Correct the command.", st.Hint, "the status advises")
		// The single start that a call triggers does not change that, and the error says what to
		// do.
		_, err := g.For(context.Background(), &core.Call{Server: "a"})
		if message, hint := core.Describe(err); message != `server "a" is not available (failed): executable not found` || hint != "Correct the command." {
			t.Errorf("a call is told %q, %q", message, hint)
		}
		g.apply(server("a"))
		g.want("a", core.StateRunning)
	})
}

func TestCrashedServerIsRestartedOncePerHalfMinute(t *testing.T) {
	inBubble(t, starting(failing(7, errBoom)), func(g *rig) {
		g.apply(server("a"))
		advance(time.Hour)
		for range 10 {
			_, err := g.For(context.Background(), call("a"))
			require.Truef(t, core.CodeOf(err) == core.CodeUnavailable && strings.Contains(err.Error(), "failed"), "got %v", err)
		}
		require.Equal(t, 6, len(g.started("a")))
		advance(31 * time.Second)
		_, _ = g.For(context.Background(), call("a"))
		advance(31 * time.Second)
		up, err := g.For(context.Background(), call("a"))
		require.Truef(t, err == nil && up != nil, "the start that works is no use: %v", err)
		g.want("a", core.StateRunning)
	})
}

// Between two failures, a server that fails again and again would look healthy.
func TestRunningServerNamesItsFailuresInARow(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		for _, want := range []string{"", "", "failed 2 times in a row; last failure: the connection broke"} {
			advance(30 * time.Second)
			require.Equal(t, want, g.want("a", core.StateRunning).Reason)
			g.conn("a").die()
		}
		advance(10 * time.Second)
		require.Contains(t, g.want("a", core.StateRunning).Reason, "failed 3 times")
		require.Equal(t, core.RemedySeeLog, g.want("a", core.StateRunning).Remedy.Kind)
		advance(time.Minute)
		require.Empty(t, g.want("a", core.StateRunning).Reason)
	})
}
