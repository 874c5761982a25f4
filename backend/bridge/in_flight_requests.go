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
	response     *responseWriter
	older, newer *inFlightRequest
}

func (r *inFlightRequests) add(req *inFlightRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.older = r.newest; req.older != nil {
		req.older.newer = req
	}
	r.newest = req
	switch {
	case r.stopped:
		req.cancel(errStopped)
	case !r.armed:
		r.arm(req.response.keepAliveInterval)
	}
}

func (r *inFlightRequests) remove(req *inFlightRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.older != nil {
		req.older.newer = req.newer
	}
	if req.newer != nil {
		req.newer.older = req.older
	} else {
		r.newest = req.older
	}
}

// arm sets the timer. The caller must hold u.mu.
func (r *inFlightRequests) arm(after time.Duration) {
	r.armed = true
	if r.timer == nil {
		r.timer = time.AfterFunc(after, r.sendKeepAlives)
	} else {
		r.timer.Reset(after)
	}
}

// sendKeepAlives sends a comment on each stream that was silent for too long, and sets the
// timer for the next one.
func (r *inFlightRequests) sendKeepAlives() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.armed = r.newest != nil && !r.stopped; !r.armed {
		return
	}
	next := r.newest.response.keepAliveInterval
	for req := r.newest; req != nil; req = req.older {
		left := req.response.keepAliveInterval - req.response.sinceLastWrite()
		if left <= 0 {
			go req.response.sendKeepAlive() // a client that does not read must block only its own stream
			left = req.response.keepAliveInterval
		}
		next = min(next, left)
	}
	r.arm(next)
}

// cancelAll cancels all requests, and those that are added later.
func (r *inFlightRequests) cancelAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	if r.timer != nil {
		r.timer.Stop()
	}
	for req := r.newest; req != nil; req = req.older {
		req.cancel(errStopped)
	}
}
