package osutil

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"time"
)

const (
	pollInterval = 5 * time.Second        // interval of reading the clock, and the addresses without system events
	minSleep     = 3 * time.Second        // advance of the wall clock over the monotonic clock that indicates sleep
	debounce     = 300 * time.Millisecond // debounce period: changes come in bursts
)

// WatchNetwork calls changed after the machine has woken up and after its addresses, links or routes have
// changed, until ctx is cancelled. It returns nil. A burst of changes is reported once, 300 ms
// after its start.
func WatchNetwork(ctx context.Context, log *slog.Logger, changed func()) error {
	return watcher{clock: systemClock, addresses: interfaceAddresses, subscribe: subscribe, log: log}.run(ctx, changed)
}

// watcher holds the inputs of WatchNetwork, which tests replace.
type watcher struct {
	clock     func() (wall, monotonic time.Duration)
	addresses func() []string
	// subscribe sends to news after every change until ctx is cancelled. It fails on systems
	// without change events, where the addresses are polled.
	subscribe func(ctx context.Context, news chan<- struct{}) error
	log       *slog.Logger
}

func (w watcher) run(ctx context.Context, changed func()) error {
	news := make(chan struct{}, 1)
	polled := false
	if err := w.subscribe(ctx, news); err != nil {
		w.log.Debug("The system does not report network changes; polling the addresses", "error", err)
		polled = true
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	wall, monotonic := w.clock()
	var known []string
	if polled {
		known = w.addresses()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-news:
			if !waitForQuiet(ctx, news) {
				return nil
			}
			w.log.Debug("The network changed")
			changed()
		case <-ticker.C:
			nowWall, nowMonotonic := w.clock()
			slept := (nowWall - wall) - (nowMonotonic - monotonic)
			wall, monotonic = nowWall, nowMonotonic
			woke, moved := slept > minSleep, false
			if polled {
				now := w.addresses()
				moved, known = !slices.Equal(known, now), now
			}
			if woke || moved {
				w.log.Debug("The machine woke up, or its addresses changed", "slept", slept.Round(time.Second))
				changed()
			}
		}
	}
}

// waitForQuiet discards the events of the debounce period. It returns false if ctx is cancelled.
func waitForQuiet(ctx context.Context, news <-chan struct{}) bool {
	timer := time.NewTimer(debounce)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-news:
		case <-timer.C:
			return true
		}
	}
}

var started = time.Now()

// systemClock reads both clocks. The monotonic clock stops while the machine sleeps.
func systemClock() (wall, monotonic time.Duration) {
	now := time.Now()
	return now.Round(0).Sub(started.Round(0)), now.Sub(started)
}

// interfaceAddresses returns the sorted interface addresses of this machine.
func interfaceAddresses() []string {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.String()
	}
	slices.Sort(texts)
	return texts
}
