package supervisor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
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
		waited := time.Since(begin)
		assert.Truef(t, waited <= time.Second, "it waited %s longer than needed", waited)
		v, ok := g.registry.Server("a")
		assert.True(t, ok && v.Offers()[0].Catalog != nil, "server a is not listed")
	})
}
