package bridge

import (
	"context"
	"sync"
	"time"
)

// inFlightRequests holds the requests on the fast path that have not been answered. All are
// cancelled together at shutdown, and share one timer for keep-alive comments, because a
// timer and a context callback for each request would cost more than parsing it. The zero
// value is ready to use.
type inFlightRequests struct {
	mu      sync.Mutex // guards the fields below and the links of each request
	newest  *inFlightRequest
	timer   *time.Timer
	armed   bool // the timer is set
	stopped bool
}

// inFlightRequest is one unanswered request.
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

// arm sets the timer. The caller must hold u.mu.
func (u *inFlightRequests) arm(after time.Duration) {
	u.armed = true
	if u.timer == nil {
		u.timer = time.AfterFunc(after, u.sendKeepAlives)
	} else {
		u.timer.Reset(after)
	}
}

// sendKeepAlives sends a comment on each stream that was silent for too long, and sets the
// timer for the next one.
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
			go a.out.keepAlive() // a client that does not read must block only its own stream
			left = a.out.every
		}
		next = min(next, left)
	}
	u.arm(next)
}

// stop cancels all requests, and those that are added later.
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
