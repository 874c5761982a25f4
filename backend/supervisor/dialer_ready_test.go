//go:build unix

package supervisor

import (
	"context"
	"errors"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"

	"github.com/stretchr/testify/assert"
)

// Two processes of one server could run at the same time if servers were started before the
// leftovers of an earlier run were removed.
func TestNothingStartsBeforeDialerIsReady(t *testing.T) {
	t.Parallel()
	g := newReal(t)
	asked, ready := make(chan struct{}, 10), make(chan struct{})
	g.dialer.Ready = func(ctx context.Context) error {
		u, err := g.dialer.Usage("a")
		assert.Errorf(t, err, "%d processes run before it was asked whether they may", len(u.Tree))
		asked <- struct{}{}
		select {
		case <-ready:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	g.apply(mode("a", "legacy"))
	<-asked
	_, err := g.dialer.Usage("a")
	assert.Error(t, err, "a process runs while it waits")
	st, _ := g.Status("a")
	assert.Truef(t, st.State == core.StateStarting && st.PID == 0, "while it waits: %+v", st)
	gone, leave := context.WithCancel(t.Context())
	leave()
	one := mode("b", "legacy")
	if s, err := g.dialer.Connect(gone, upstream.Request{Server: &one, Changed: func(core.Kind) {}}); !errors.Is(err, context.Canceled) || s.Process.Command != "" {
		t.Errorf("whoever does not wait for it gets %+v, %v", s.Process, err)
	}
	close(ready)
	g.wait("a", core.StateRunning)
}
