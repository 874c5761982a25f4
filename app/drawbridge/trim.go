package main

import (
	"context"
	"time"
)

// When memory is given back: once the start is over, and a while after calls have ended.
const (
	trimAfterStart = 3 * time.Second
	trimAfterCalls = 30 * time.Second
)

// trimWhenIdle gives memory back that nothing needs while nothing happens. A tray
// program is idle most of the day. last grows with each call.
func trimWhenIdle(ctx context.Context, last func() int64, trim func()) error {
	tick := time.NewTimer(trimAfterStart)
	defer tick.Stop()
	seen, trimmed := last(), false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := last()
		switch {
		case now != seen: // calls since we looked: wait for a whole quiet while
			trimmed = false
		case !trimmed:
			trim()
			trimmed = true
		}
		seen = now
		tick.Reset(trimAfterCalls)
	}
}
