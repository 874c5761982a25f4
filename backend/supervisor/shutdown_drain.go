package supervisor

import "time"

// DrainLimit is how long shutdown waits for calls in flight.
const DrainLimit = 3 * time.Second

const drainInterval = 20 * time.Millisecond // interval of checking for calls in flight

// drain waits for the calls in flight of a server before it is stopped at shutdown.
type drain struct {
	r       *runner
	ticker  *time.Ticker
	tick    <-chan time.Time
	expired <-chan struct{}
}

// begin stops the server at once if no call is in flight.
func (d *drain) begin() {
	if d.r.hasNoCalls() {
		d.end()
		return
	}
	d.ticker = time.NewTicker(drainInterval)
	d.tick, d.expired = d.ticker.C, d.r.s.drainExpired
}

// check stops the server if its last call has ended.
func (d *drain) check() {
	if d.r.hasNoCalls() {
		d.end()
	}
}

// end stops the server.
func (d *drain) end() {
	d.stop()
	d.tick, d.expired = nil, nil
	d.r.closing, d.r.wanted = true, false
	d.r.step(evWanted)
}

func (d *drain) stop() {
	if d.ticker != nil {
		d.ticker.Stop()
	}
}
