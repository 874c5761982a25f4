package osutil

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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
				if err != failed {
					t.Errorf("one was told %v", err)
				}
			})
		}
		all.Wait()
		if times.Load() != 1 {
			t.Errorf("done %d times", times.Load())
		}
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
				if e.Wait(never, time.Hour) {
					t.Error("what never ends has ended")
				}
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
		if e.Wait(done, 10*time.Second) || !e.Wait(done, time.Hour) || time.Since(began) != time.Minute {
			t.Errorf("waited %s", time.Since(began))
		}
		e.Expedite()
		e.Expedite()
		if !e.Wait(done, time.Hour) {
			t.Error("in a hurry it does not see that it is over")
		}
	})
}
