package netchange

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// rig is a watcher with a clock and addresses that are set by the test.
type rig struct {
	asleep atomic.Int64
	known  atomic.Pointer[[]string]
	news   chan<- struct{}
	told   int
}

func watched(t *testing.T, tells bool, f func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		r := &rig{}
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
		go func() { ended <- w.run(ctx, func() { r.told++ }) }()
		synctest.Wait()
		f(r)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestWakeUpIsReportedWithinFiveSeconds(t *testing.T) {
	watched(t, true, func(r *rig) {
		pass(time.Hour)
		if r.told != 0 {
			t.Fatalf("told %d times of nothing", r.told)
		}
		r.asleep.Store(int64(8 * time.Hour))
		pass(lookEvery)
		if r.told != 1 {
			t.Errorf("told %d times", r.told)
		}
		r.asleep.Add(-int64(time.Hour)) // setting the clock back does not count as sleep
		pass(time.Minute)
		if r.told != 1 {
			t.Errorf("told %d times", r.told)
		}
	})
}

func TestChangeBurstIsReportedOnce(t *testing.T) {
	watched(t, true, func(r *rig) {
		for range 20 {
			select {
			case r.news <- struct{}{}:
			default:
			}
			pass(10 * time.Millisecond)
		}
		pass(calm)
		if r.told != 1 {
			t.Errorf("told %d times", r.told)
		}
	})
}

func TestAddressesArePolledWithoutSystemEvents(t *testing.T) {
	watched(t, false, func(r *rig) {
		pass(time.Minute)
		r.known.Store(&[]string{"192.0.2.1/24", "198.51.100.7/24"})
		pass(lookEvery)
		if r.told != 1 {
			t.Errorf("told %d times", r.told)
		}
		pass(time.Minute)
		if r.told != 1 {
			t.Errorf("told %d times of one change", r.told)
		}
	})
}
