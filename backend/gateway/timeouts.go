package gateway

import (
	"sync"
	"time"
)

// timeouts end the calls whose time is over. They share one timer, which rings when the
// first of them may be late: nearly every call has ended long before, and a timer of its
// own would be started and stopped for nothing. The zero value is ready.
type timeouts struct {
	mu       sync.Mutex // guards what follows, and the links of each flight; comes before flight.mu
	newest   *inFlightCall
	timer    *time.Timer
	nextFire time.Time // zero: it does not
}

func (c *timeouts) add(f *inFlightCall, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.older = c.newest; f.older != nil {
		f.older.newer = f
	}
	c.newest = f
	c.arm(due)
}

func (c *timeouts) remove(f *inFlightCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.older != nil {
		f.older.newer = f.newer
	}
	if f.newer != nil {
		f.newer.older = f.older
	} else {
		c.newest = f.older
	}
}

// reschedule is told of a flight whose clock runs again.
func (c *timeouts) reschedule(due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arm(due)
}

// arm makes the timer ring by due. It must be called with c.mu held.
func (c *timeouts) arm(due time.Time) {
	if !c.nextFire.IsZero() && !due.Before(c.nextFire) {
		return
	}
	c.nextFire = due
	if left := max(time.Until(due), 0); c.timer == nil {
		c.timer = time.AfterFunc(left, c.fire)
	} else {
		c.timer.Reset(left)
	}
}

func (c *timeouts) fire() {
	var over []*inFlightCall
	c.mu.Lock()
	c.nextFire = time.Time{}
	now := time.Now()
	for f := c.newest; f != nil; f = f.older {
		switch due, runs := f.deadline(); {
		case !runs: // by comes when it does
		case due.After(now):
			c.arm(due)
		default:
			over = append(over, f)
		}
	}
	c.mu.Unlock()
	for _, f := range over {
		f.expire()
	}
}
