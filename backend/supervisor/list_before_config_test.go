package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A client may send a list request before the first configuration is applied. Without waiting,
// the answer would be an empty list.
func TestListWaitsForFirstConfig(t *testing.T) {
	inBubble(t, func(*rig, *Options) {}, func(g *rig) {
		listed := make(chan struct{})
		go func() {
			defer close(listed)
			g.WaitListed(context.Background(), "")
		}()
		synctest.Wait()
		select {
		case <-listed:
			t.Fatal("it did not wait")
		default:
		}
		begin := time.Now()
		g.apply(server("a"))
		<-listed
		if waited := time.Since(begin); waited > time.Second {
			t.Errorf("it waited %s longer than needed", waited)
		}
		if v, ok := g.registry.Server("a"); !ok || v.Offers()[0].Catalog == nil {
			t.Error("server a is not listed")
		}
	})
}
