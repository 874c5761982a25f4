package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackOnceInEachQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var calls int64
		trims := 0
		done := make(chan error, 1)
		go func() { done <- trimWhenIdle(ctx, func() int64 { return calls }, func() { trims++ }) }()
		pass := func(d time.Duration, want int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if trims != want {
				t.Fatalf("trimmed %d times, want %d", trims, want)
			}
		}
		pass(trimAfterStart-time.Second, 0)
		pass(2*time.Second, 1)
		pass(time.Hour, 1)
		for range 10 {
			calls++
			pass(trimAfterCalls, 1)
		}
		pass(2*trimAfterCalls, 2)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
