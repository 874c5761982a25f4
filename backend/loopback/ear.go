package loopback

import (
	"context"
	"sync"
	"time"
)

// hearAfter is how long a call takes before it matters whether its client leaves.
const hearAfter = 25 * time.Millisecond

// ear hears whether the client of a connection leaves while a request is under way: it
// reads one byte, as net/http would, but only of a request that takes long. For the others
// it costs a look at the clock; its timer rings once for all that come in that time.
type ear struct {
	conn  *boundedConn
	after time.Duration      // how long a request takes before its client is heard
	left  context.CancelFunc // ends the requests of the connection; nil: net/http hears by itself

	mu      sync.Mutex // guards what follows
	since   time.Time  // when the request that is under way was read; zero: there is none
	timer   *time.Timer
	armed   bool          // the timer will ring
	done    chan struct{} // closed when the read has ended; nil: nothing is read
	stopped bool          // the read is to end
	closed  bool
	early   bool // one holds what came too early
	one     [1]byte
}

// begin is called when a request seems to have been read. It reports false when that was so
// before, and nobody has read anything since: then somebody wants a byte in earnest.
func (e *ear) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.left == nil || !e.since.IsZero() {
		return false
	}
	e.since = time.Now()
	if !e.armed && !e.closed {
		e.arm(e.after)
	}
	return true
}

// arm needs e.mu.
func (e *ear) arm(after time.Duration) {
	e.armed = true
	if e.timer == nil {
		e.timer = time.AfterFunc(after, e.listen)
	} else {
		e.timer.Reset(after)
	}
}

// end is called when somebody else wants to read, which ends the request. It returns
// with what came too early, if there is room for it in p.
func (e *ear) end(p []byte) int {
	e.mu.Lock()
	e.since = time.Time{}
	if done := e.done; done != nil {
		e.stopped = true
		e.mu.Unlock()
		e.conn.reading.interrupt()
		<-done
		e.conn.reading.resume()
		e.mu.Lock()
	}
	defer e.mu.Unlock()
	if !e.early || len(p) == 0 {
		return 0
	}
	e.early = false
	return copy(p, e.one[:])
}

// close is called when the connection is closed.
func (e *ear) close() {
	e.mu.Lock()
	e.closed = true
	if e.timer != nil {
		e.timer.Stop()
	}
	e.mu.Unlock()
	if e.left != nil {
		e.left()
	}
}

// listen runs when the timer rings.
func (e *ear) listen() {
	e.mu.Lock()
	e.armed = false
	if e.since.IsZero() || e.closed || e.early {
		e.mu.Unlock()
		return
	}
	if young := e.after - time.Since(e.since); young > 0 {
		e.arm(young)
		e.mu.Unlock()
		return
	}
	done := make(chan struct{})
	e.done, e.stopped = done, false
	e.mu.Unlock()

	n, err := e.conn.read(e.one[:], e.isStopped)

	e.mu.Lock()
	e.done, e.early = nil, n == 1
	left := err != nil && n == 0 && !e.stopped
	e.mu.Unlock()
	close(done)
	if left {
		e.left()
	}
}

func (e *ear) isStopped() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stopped
}
