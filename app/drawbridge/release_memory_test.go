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
	for live, want := range map[uint64]int64{0: 180 << 20, 100 << 20: 180 << 20, 400 << 20: 500 << 20} {
		if got := memoryLimitFor(live); got != want {
			t.Errorf("%d live: %d, want %d", live, got, want)
		}
	}
	runtime.GC()
	if liveBytes() == 0 {
		t.Error("no live bytes after a garbage collection")
	}
}
