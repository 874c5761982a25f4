package main

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsReleasedOnlyWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		var calls, trims atomic.Int64
		done := make(chan error, 1)
		go func() { done <- releaseMemoryWhenIdle(ctx, calls.Load, func() { trims.Add(1) }) }()
		pass := func(d time.Duration, want int64) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := trims.Load(); got != want {
				t.Fatalf("trimmed %d times, want %d", got, want)
			}
		}
		pass(trimAfterStart-time.Second, 0)
		pass(2*time.Second, 1)
		pass(10*trimAfterCalls, 11)
		for range 10 {
			calls.Add(1)
			pass(trimAfterCalls, 11)
		}
		pass(trimAfterCalls, 12)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestMemoryLimitLeavesRoomAboveLiveBytes(t *testing.T) {
	for used, want := range map[[2]uint64]int64{{0, 0}: 180, {100, 20}: 180, {140, 45}: 220, {400, 10}: 510} {
		if got := memoryLimitFor(used[0]<<20, used[1]<<20); got != want<<20 {
			t.Errorf("%d MiB live and others: %d, want %d MiB", used, got, want)
		}
	}
	runtime.GC()
	if live, other := usedBytes(); live == 0 || other == 0 || other > 1<<30 {
		t.Errorf("%d live bytes and %d others after a garbage collection", live, other)
	}
}
