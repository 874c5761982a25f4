package bridge

import (
	"context"
	"sync"
	"time"
)

// inFlightRequests are the plain requests that are being answered. They are told together when we
// stop, and share one timer for their streams: a timer and an observer of their own would
// cost each of them more than its scanning does, and hardly any lives until they are needed.
// The zero value is ready.
type inFlightRequests struct {
	mu      sync.Mutex // guards what follows, and the links of each
	newest  *inFlightRequest
	timer   *time.Timer
	armed   bool // the timer will ring
	stopped bool
}

// inFlightRequest is one of them.
type inFlightRequest struct {
	cancel       context.CancelCauseFunc
	out          *responseWriter
	older, newer *inFlightRequest
}

func (u *inFlightRequests) add(a *inFlightRequest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a.older = u.newest; a.older != nil {
		a.older.newer = a
	}
	u.newest = a
	switch {
	case u.stopped:
		a.cancel(errStopped)
	case !u.armed:
		u.arm(a.out.every)
	}
}

func (u *inFlightRequests) remove(a *inFlightRequest) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if a.older != nil {
		a.older.newer = a.newer
	}
	if a.newer != nil {
		a.newer.older = a.older
	} else {
		u.newest = a.older
	}
}

// arm must be called with u.mu held.
func (u *inFlightRequests) arm(after time.Duration) {
	u.armed = true
	if u.timer == nil {
		u.timer = time.AfterFunc(after, u.sendKeepAlives)
	} else {
		u.timer.Reset(after)
	}
}

// sendKeepAlives lets those speak that were silent for too long, and comes back for the next.
func (u *inFlightRequests) sendKeepAlives() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.armed = u.newest != nil && !u.stopped; !u.armed {
		return
	}
	next := u.newest.out.every
	for a := u.newest; a != nil; a = a.older {
		left := a.out.every - a.out.silence()
		if left <= 0 {
			go a.out.keepAlive() // a client that does not read holds up its own stream alone
			left = a.out.every
		}
		next = min(next, left)
	}
	u.arm(next)
}

// stop ends them all, and those that are added later.
func (u *inFlightRequests) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.stopped = true
	if u.timer != nil {
		u.timer.Stop()
	}
	for a := u.newest; a != nil; a = a.older {
		a.cancel(errStopped)
	}
}
