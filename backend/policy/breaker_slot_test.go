package policy

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call that waited for a slot and then finds the breaker open releases the slot.
func TestSlotIsReleasedWhenBreakerOpensDuringWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := withRules(t, `, "concurrency": {"max": 1, "queue": 5}, "breaker": {"failures": 1, "openMs": 60000}`, ``, Options{})
		working, err := s.Admit(t.Context(), call("plain", ""), nil)
		require.NoError(t, err)
		refused := make(chan error, 3)
		for range cap(refused) {
			go func() {
				_, err := s.Admit(t.Context(), call("plain", ""), nil)
				refused <- err
			}()
		}
		synctest.Wait() // all three wait for the slot
		loads := s.Loads()
		require.Truef(t, len(loads) == 1 && loads[0].Queued == 3, "%+v", loads)
		s.End(working, core.Reply{}, gone, true)
		for range cap(refused) {
			if err := <-refused; core.CodeOf(err) != core.CodeBreakerOpen {
				t.Errorf("after the wait: %v", err)
			}
		}
		loads = s.Loads()
		assert.Falsef(t, len(loads) != 0 && (loads[0].Running != 0 || loads[0].Queued != 0), "%+v", loads)
		time.Sleep(time.Minute)
		_, err = s.make(call("plain", ""), "{}", nil)
		assert.NoError(t, err, "after the rest")
	})
}

// While there are no failures, the breaker takes no lock. The test holds it all the time.
func TestClosedBreakerTakesNoLock(t *testing.T) {
	s := withRules(t, ``, ``, Options{})
	b := s.rules.Load().server("files").breaker
	b.mu.Lock()
	done := make(chan error, 1)
	go func() {
		for range 100 {
			plan, err := s.Admit(context.Background(), call("plain", ""), nil)
			if err != nil {
				done <- err
				return
			}
			s.End(plan, core.Reply{}, nil, true)
		}
		done <- nil
	}()
	select {
	case err := <-done:
		b.mu.Unlock()
		assert.NoError(t, err)
	case <-time.After(20 * time.Second):
		b.mu.Unlock()
		<-done
		t.Error("a call waits for the breaker's lock")
	}
}
