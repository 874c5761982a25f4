package gateway

import (
	"sync"
	"time"
)

// timeouts cancels calls that exceed their deadline. All calls share one timer, set to the
// earliest deadline, because starting and stopping a timer for each call is measurable and
// nearly every call ends long before its deadline. The zero value is ready to use.
type timeouts struct {
	mu       sync.Mutex // guards the fields below; locked before inFlightCall.mu
	calls    map[*inFlightCall]struct{}
	timer    *time.Timer
	nextFire time.Time // zero when the timer is not set
}

func (c *timeouts) add(f *inFlightCall, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = make(map[*inFlightCall]struct{})
	}
	c.calls[f] = struct{}{}
	c.arm(due)
}

func (c *timeouts) remove(f *inFlightCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, f)
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
	for f := range c.calls {
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
