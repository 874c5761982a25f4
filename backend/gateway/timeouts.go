package gateway

import (
	"sync"
	"time"
)

// timeouts cancels calls that exceed their deadline. All calls share one timer, set to the
// earliest deadline, because starting and stopping a timer for each call is measurable and
// nearly every call ends long before its deadline. The zero value is ready to use.
type timeouts struct {
	mu       sync.Mutex // guards the fields below and the links of each call; locked before inFlightCall.mu
	newest   *inFlightCall
	timer    *time.Timer
	nextFire time.Time // zero when the timer is not set
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

// reschedule makes sure that the timer fires at due or earlier. It is called when the clock of
// a call runs again.
func (c *timeouts) reschedule(due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arm(due)
}

// arm makes the timer fire at due or earlier. The caller must hold c.mu.
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
		case !runs: // reschedule is called when its clock runs again
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
