package gateway

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
)

// Concurrent calls each time out at their own deadline, whichever calls end before or after.
func TestEachCallTimesOutAtItsOwnDeadline(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			plans := &plannedFixture{fixture: newFixture(), plans: map[string]policy.Plan{}, asks: map[string]time.Duration{}}
			g := New(Options{Upstreams: plans, Policy: plans, Recorder: plans, Bus: &core.Bus{}})
			var calls sync.WaitGroup
			var all []func()
			for i := range 50 {
				call, limit, asks := toolCall(), time.Duration(1+random.IntN(2000))*time.Millisecond, time.Duration(0)
				call.Name = string(rune('0' + i))
				if random.IntN(4) == 0 {
					asks = time.Duration(random.IntN(3000)) * time.Millisecond
				}
				plans.plans[call.Name] = policy.Plan{Timeout: limit, Ceiling: limit, TimeoutKey: "t", CeilingKey: "c"}
				plans.asks[call.Name] = asks
				begins, quick := time.Duration(random.IntN(3000))*time.Millisecond, random.IntN(3) == 0
				ctx := context.Context(t.Context())
				all = append(all, func() {
					time.Sleep(begins)
					if quick { // ends before its deadline
						one, cancel := context.WithTimeout(t.Context(), limit/2)
						defer cancel()
						ctx = one
					}
					_, err := g.Call(ctx, call, answeringSink{asks})
					want, code := limit+asks, core.CodeTimeout
					if quick {
						want, code = limit/2, core.CodeCancelled
					}
					if core.CodeOf(err) != code && !quick || call.Took != want {
						t.Errorf("seed %d: %v after %s, not %s", seed, err, call.Took, want)
					}
				})
			}
			for _, one := range all {
				calls.Go(one)
			}
			calls.Wait()
		})
	}
}

// plannedFixture is a fixture with a separate plan for each call.
type plannedFixture struct {
	*fixture
	plans map[string]policy.Plan
	asks  map[string]time.Duration
}

func (v *plannedFixture) Admit(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (policy.Plan, error) {
	return v.plans[call.Name], nil
}

func (v *plannedFixture) For(_ context.Context, call *core.Call) (Upstream, error) {
	return sendFunc(func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		if v.asks[call.Name] > 0 {
			if _, err := sink.Ask(ctx, "elicitation/create", nil); err != nil {
				return core.Reply{}, err
			}
		}
		<-ctx.Done()
		return core.Reply{}, context.Cause(ctx)
	}), nil
}
