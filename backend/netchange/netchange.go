package netchange

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"time"
)

const (
	lookEvery = 5 * time.Second        // at the clock, and at the addresses where the system does not tell
	leap      = 3 * time.Second        // of the wall clock ahead of the monotonic one: the machine slept
	calm      = 300 * time.Millisecond // changes come in flocks; one is told
)

// Watch calls changed until ctx ends: after the machine woke up, and after its addresses,
// links or routes changed. A flock of changes is told once, within half a second of its
// beginning.
func Watch(ctx context.Context, log *slog.Logger, changed func()) error {
	return watcher{clock: systemClock, addresses: addresses, subscribe: subscribe, log: log}.run(ctx, changed)
}

// watcher is what Watch looks at.
type watcher struct {
	clock     func() (wall, monotonic time.Duration)
	addresses func() []string
	// subscribe sends on the channel when something changed, until ctx ends. It fails where
	// the system does not tell; the addresses are then polled.
	subscribe func(ctx context.Context, news chan<- struct{}) error
	log       *slog.Logger
}

func (w watcher) run(ctx context.Context, changed func()) error {
	news := make(chan struct{}, 1)
	polled := false
	if err := w.subscribe(ctx, news); err != nil {
		w.log.Debug("The system does not tell of changes of the network, its addresses are polled", "error", err)
		polled = true
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
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
			if !settle(ctx, news) {
				return nil
			}
			w.log.Debug("The network changed")
			changed()
		case <-look.C:
			nowWall, nowMonotonic := w.clock()
			slept := (nowWall - wall) - (nowMonotonic - monotonic)
			wall, monotonic = nowWall, nowMonotonic
			woke, moved := slept > leap, false
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

// settle swallows what follows the first piece of news, and reports whether ctx goes on.
func settle(ctx context.Context, news <-chan struct{}) bool {
	timer := time.NewTimer(calm)
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

// systemClock reads both clocks. The monotonic one stands still while the machine sleeps.
func systemClock() (wall, monotonic time.Duration) {
	now := time.Now()
	return now.Round(0).Sub(started.Round(0)), now.Sub(started)
}

// addresses are those of this machine, in a fixed order.
func addresses() []string {
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
