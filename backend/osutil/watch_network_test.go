package osutil

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeMachine is a watcher with a clock and addresses that are set by the test.
type fakeMachine struct {
	asleep  atomic.Int64
	known   atomic.Pointer[[]string]
	news    chan<- struct{}
	reports int
}

func testWatcher(t *testing.T, tells bool, f func(*fakeMachine)) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := &fakeMachine{}
		r.known.Store(&[]string{"192.0.2.1/24"})
		w := watcher{
			clock: func() (time.Duration, time.Duration) {
				monotonic := time.Since(began)
				return monotonic + time.Duration(r.asleep.Load()), monotonic
			},
			addresses: func() []string { return *r.known.Load() },
			subscribe: func(_ context.Context, news chan<- struct{}) error {
				r.news = news
				if !tells {
					return errors.ErrUnsupported
				}
				return nil
			},
			log: slog.New(slog.DiscardHandler),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx, func() { r.reports++ }) }()
		synctest.Wait()
		f(r)
		cancel()
		err := <-ended
		assert.NoError(t, err)
	})
}

func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestWakeUpIsReportedWithinFiveSeconds(t *testing.T) {
	testWatcher(t, true, func(r *fakeMachine) {
		advance(time.Hour)
		require.Equal(t, 0, r.reports)
		r.asleep.Store(int64(8 * time.Hour))
		advance(pollInterval)
		assert.Equal(t, 1, r.reports)
		r.asleep.Add(-int64(time.Hour)) // setting the clock back does not count as sleep
		advance(time.Minute)
		assert.Equal(t, 1, r.reports)
	})
}

func TestChangeBurstIsReportedOnce(t *testing.T) {
	testWatcher(t, true, func(r *fakeMachine) {
		for range 20 {
			select {
			case r.news <- struct{}{}:
			default:
			}
			advance(10 * time.Millisecond)
		}
		advance(debounce)
		assert.Equal(t, 1, r.reports)
	})
}

func TestAddressesArePolledWithoutSystemEvents(t *testing.T) {
	testWatcher(t, false, func(r *fakeMachine) {
		advance(time.Minute)
		r.known.Store(&[]string{"192.0.2.1/24", "198.51.100.7/24"})
		advance(pollInterval)
		assert.Equal(t, 1, r.reports)
		advance(time.Minute)
		assert.Equal(t, 1, r.reports)
	})
}
