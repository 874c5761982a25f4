package bridge

import (
	"context"
	"sync"
	"time"
)

// underway are the plain requests that are being answered. They are told together when we
// stop, and share one timer for their streams: a timer and an observer of their own would
// cost each of them more than its scanning does, and hardly any lives until they are needed.
// The zero value is ready.
type underway struct {
	mu      sync.Mutex // guards what follows, and the links of each
	newest  *answering
	timer   *time.Timer
	armed   bool // the timer will ring
	stopped bool
}

// answering is one of them.
type answering struct {
	cancel       context.CancelCauseFunc
	out          *outlet
	older, newer *answering
}

func (u *underway) add(a *answering) {
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

func (u *underway) remove(a *answering) {
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

// arm needs u.mu.
func (u *underway) arm(after time.Duration) {
	u.armed = true
	if u.timer == nil {
		u.timer = time.AfterFunc(after, u.beat)
	} else {
		u.timer.Reset(after)
	}
}

// beat lets those speak that were silent for too long, and comes back for the next.
func (u *underway) beat() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.armed = u.newest != nil && !u.stopped; !u.armed {
		return
	}
	next := u.newest.out.every
	for a := u.newest; a != nil; a = a.older {
		left := a.out.every - a.out.silent()
		if left <= 0 {
			go a.out.tick() // a client that does not read holds up its own stream alone
			left = a.out.every
		}
		next = min(next, left)
	}
	u.arm(next)
}

// stop ends them all, and those that are added later.
func (u *underway) stop() {
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
