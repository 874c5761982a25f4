package osutil

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestConcurrentClosesRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, failed := NewCloser(), errors.New("failed")
		var times atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				err := e.Run(t.Context(), func() error {
					times.Add(1)
					time.Sleep(time.Second)
					return failed
				})
				assert.Truef(t, err == failed, "one was told %v", err)
			})
		}
		all.Wait()
		assert.EqualValues(t, 1, times.Load())
	})
}

// An expired context shortens the waits of the steps. Run still waits for the shutdown to finish.
func TestFirstExpiredContextHurriesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, never := NewCloser(), make(chan struct{})
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		steps := 0
		err := e.Run(ctx, func() error {
			for range 3 {
				assert.False(t, e.Wait(never, time.Hour), "what never ends has ended")
				steps++
			}
			return nil
		})
		if err != nil || steps != 3 || time.Since(began) != time.Second || !e.Expedited() {
			t.Errorf("%v after %d steps and %s", err, steps, time.Since(began))
		}
	})
}

func TestWaitReturnsWhenCloseIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, done := NewCloser(), make(chan struct{})
		began := time.Now()
		time.AfterFunc(time.Minute, func() { close(done) })
		assert.Truef(t, !e.Wait(done, 10*time.Second) && e.Wait(done, time.Hour) && time.Since(began) == time.Minute, "waited %s", time.Since(began))
		e.Expedite()
		e.Expedite()
		assert.True(t, e.Wait(done, time.Hour), "in a hurry it does not see that it is over")
	})
}
