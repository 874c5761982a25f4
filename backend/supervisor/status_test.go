package supervisor

import (
	"context"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestEachStateHasTextAndReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  state
		wanted bool
		set    func(*runner, *config.Server)
		word   core.State
		reason string
	}{
		{"stopped", state{}, false, nil, core.StateStopped, "stopped by the user; starts with the next call"},
		{"manual", state{}, false, func(_ *runner, c *config.Server) { c.Start = config.StartManual }, core.StateStopped, "starts on request only"},
		{"on demand", state{}, false, func(_ *runner, c *config.Server) { c.Start = config.StartOnDemand }, core.StateStopped, "starts with the first call"},
		{"disabled", state{}, false, func(_ *runner, c *config.Server) { c.Disabled = true }, core.StateDisabled, ""},
		{"starting", state{phase: phaseStarting, limit: 5}, true, nil, core.StateStarting, ""},
		{"starting again", state{phase: phaseStarting, limit: 5, failures: 2}, true, nil, core.StateStarting, "attempt 3 of 5 after: it broke"},
		{"running", state{phase: phaseRunning}, true, nil, core.StateRunning, ""},
		{"degraded", state{phase: phaseRunning}, true, func(r *runner, _ *config.Server) { r.pingFailed = true }, core.StateDegraded, "it broke"},
		{"clearing away", state{phase: phaseStopping, failed: true}, true, nil, core.StateBackoff, "it broke"},
		{"restarting", state{phase: phaseStopping}, true, nil, core.StateStarting, "restarting"},
		{"stopping", state{phase: phaseStopping}, false, nil, core.StateStopped, "stopping the process"},
		{"backoff", state{phase: phaseBackoff, limit: 5, failures: 2}, true, nil, core.StateBackoff, "it broke; retrying (attempt 3 of 5)"},
		{"waiting", state{phase: phaseWaiting}, true, nil, core.StateWaiting, "it broke"},
		{"crashed", state{phase: phaseCrashed, failures: 5}, true, nil, core.StateCrashed, "it broke; gave up after 5 starts"},
		{"refused", state{phase: phaseCrashed}, true, nil, core.StateCrashed, "it broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := server("a")
			r := &runner{s: new(Supervisor), id: "a", state: c.state, wanted: c.wanted, reason: "it broke"}
			if c.set != nil {
				c.set(r, &cfg)
			}
			if word, reason := r.stateAndReason(&cfg); word != c.word || reason != c.reason {
				t.Fatalf("%q, %q; want %q, %q", word, reason, c.word, c.reason)
			}
		})
	}
}

func TestUpstreamLookupAllocatesNothing(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		ctx, c := context.Background(), call("a")
		if n := testing.AllocsPerRun(100, func() { _, _ = g.For(ctx, c) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
