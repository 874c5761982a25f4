package supervisor

import (
	"context"
	"testing"
)

func TestUpstreamLookupAllocatesNothing(t *testing.T) {
	inBubble(t, nil, func(g *rig) {
		g.apply(server("a"))
		ctx, c := context.Background(), call("a")
		if n := testing.AllocsPerRun(100, func() { _, _ = g.For(ctx, c) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
