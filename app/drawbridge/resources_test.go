package main

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// simulatedLoad is a program with a load that the test sets.
type simulatedLoad struct {
	mu      sync.Mutex // guards the fields below
	share   float64    // of one processor
	waiting int
	used    time.Duration
	at      time.Time
	setting string
	changes int
}

func (l *simulatedLoad) newAdaptive() *adaptiveGOMAXPROCS {
	l.at, l.setting = time.Now(), "wide"
	set := func(to string) func() {
		return func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.setting = to
			l.changes++
		}
	}
	return &adaptiveGOMAXPROCS{
		useAllProcessors: set("wide"), useOneProcessor: set("slim"),
		load: func() time.Duration {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.used += time.Duration(l.share * float64(time.Since(l.at)))
			l.at = time.Now()
			return l.used
		},
		runnableGoroutines: func() int {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.waiting
		},
	}
}

func TestGOMAXPROCSAdaptsToLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l simulatedLoad
		ctx, cancel := context.WithCancel(t.Context())
		b := l.newAdaptive()
		done := make(chan struct{})
		go func() { defer close(done); b.follow(ctx) }()
		for _, step := range []struct {
			name    string
			share   float64
			waiting int
			after   time.Duration
			want    string
		}{
			{"just started", 0, 0, 300 * time.Millisecond, "wide"},
			{"idle", 0, 0, 2 * time.Second, "slim"},
			{"one client", 0.6, 1, 2 * time.Second, "slim"},
			{"a crowd", 0.7, 12, 300 * time.Millisecond, "wide"},
			{"still a crowd", 0.8, 5, 10 * time.Second, "wide"},
			{"one client again", 0.8, 0, time.Second, "slim"},
			{"something computes", 0.95, 0, 100 * time.Millisecond, "wide"},
			{"on and on", 1.2, 0, 10 * time.Second, "wide"},
			{"idle again", 0, 0, 2 * time.Second, "slim"},
		} {
			l.mu.Lock()
			l.share, l.waiting = step.share, step.waiting
			l.mu.Unlock()
			time.Sleep(step.after)
			synctest.Wait() // follow is waiting for its timer, so nothing changes meanwhile
			l.mu.Lock()
			assert.Equal(t, step.want, l.setting, step.name)
			l.mu.Unlock()
		}
		cancel()
		<-done
		assert.Equal(t, 5, l.changes, "it changed")
	})
}

func TestConfiguredGOMAXPROCSIsKept(t *testing.T) {
	t.Setenv("GOMAXPROCS", "2")
	ctx, cancel := context.WithCancel(t.Context())
	fail := func() { t.Error("the number was changed") }
	done := make(chan error, 1)
	go func() { done <- (&adaptiveGOMAXPROCS{useAllProcessors: fail, useOneProcessor: fail}).run(ctx) }()
	select {
	case <-done:
		t.Error("a part that returns ends the program")
	case <-time.After(20 * time.Millisecond):
	}
	cancel()
	err := <-done
	assert.NoError(t, err)
}

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
			require.Equal(t, want, trims.Load())
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
		err := <-done
		assert.NoError(t, err)
	})
}

func TestMemoryLimitLeavesRoomAboveLiveBytes(t *testing.T) {
	for used, want := range map[[2]uint64]int64{{0, 0}: 180, {100, 20}: 180, {140, 45}: 220, {400, 10}: 510} {
		assert.Equalf(t, want<<20, memoryLimitFor(used[0]<<20, used[1]<<20), "%d", used)
	}
	runtime.GC()
	live, other := usedBytes()
	assert.Truef(t, live != 0 && other != 0 && other <= 1<<30, "%d live bytes and %d others after a garbage collection", live, other)
}
