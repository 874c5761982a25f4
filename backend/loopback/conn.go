package loopback

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// boundedConn is one connection of a bounded listener. net/http sets ten deadlines in the
// course of a request, and reads one byte beyond it, to hear when its client leaves. Both
// cost more than what a call needs besides, and hardly ever matter: deadlines nearly
// always move to a later time, and most calls are over before anybody could leave. So
// the system's connection is told of an earlier deadline only, and the read
// waits a moment before it begins.
type boundedConn struct {
	net.Conn
	once    sync.Once
	release func()

	born             time.Time
	reading, writing deadline
	watch            watch
}

func newBoundedConn(c net.Conn, release func()) *boundedConn {
	b := &boundedConn{Conn: c, release: release, born: time.Now()}
	b.reading.set, b.writing.set = c.SetReadDeadline, c.SetWriteDeadline
	b.watch.ended, b.watch.after = make(chan struct{}, 1), hearAfter
	return b
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.watch.end()
	c.once.Do(c.release)
	return err
}

// Read implements net.Conn. A read of one byte is the one by which net/http hears of a
// client that leaves.
func (c *boundedConn) Read(p []byte) (int, error) {
	if c.reading.over.Load() || len(p) == 1 && !c.watch.wait(&c.reading.over) {
		return 0, os.ErrDeadlineExceeded
	}
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.reading.passed() {
			return n, err
		}
	}
}

func (c *boundedConn) Write(p []byte) (n int, err error) {
	for {
		some, err := c.Conn.Write(p[n:])
		n += some
		if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.writing.passed() {
			return n, err
		}
	}
}

func (c *boundedConn) SetReadDeadline(t time.Time) error {
	if t.IsZero() || !t.Before(c.born) && !(c.watch.waits.Load() && time.Until(t) <= 0) {
		return c.reading.ask(t)
	}
	c.reading.end(t) // first: a read that is about to wait looks for it
	if c.watch.end() {
		return nil
	}
	return c.reading.tell(t)
}

func (c *boundedConn) SetWriteDeadline(t time.Time) error { return c.writing.ask(t) }

func (c *boundedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// deadline is one that moves often and passes hardly ever. Zero times are no deadline.
type deadline struct {
	set  func(time.Time) error // of the system's connection
	over atomic.Bool           // wanted has passed: no read may begin

	mu            sync.Mutex // guards what follows
	wanted, armed time.Time  // armed is what set was told, never later than wanted
}

// ask makes t the deadline.
func (d *deadline) ask(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over.Store(false)
	d.wanted = t
	if d.armed.IsZero() && t.IsZero() || !d.armed.IsZero() && (t.IsZero() || t.After(d.armed)) {
		return nil
	}
	d.armed = t
	return d.set(t)
}

// end makes t, which has passed, the deadline, without telling set.
func (d *deadline) end(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	d.over.Store(true)
}

// tell tells set of t, if that is still the deadline.
func (d *deadline) tell(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.Equal(t) {
		return nil
	}
	d.armed = t
	return d.set(t)
}

// passed is asked when the armed deadline has passed. Unless that is the one that is
// wanted it arms that one.
func (d *deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.wanted.IsZero() && time.Until(d.wanted) <= 0 {
		return true
	}
	d.armed = d.wanted
	return d.set(d.armed) != nil
}

// hearAfter is how long a call takes before it matters whether its client leaves.
const hearAfter = 25 * time.Millisecond

// watch puts a read off until it is worth its price.
type watch struct {
	waits atomic.Bool
	after time.Duration // how long a read waits
	ended chan struct{} // holds one signal for a wait that was ended
	timer *time.Timer   // of wait; one goroutine at a time waits

	mu      sync.Mutex // guards waiting
	waiting bool
}

// wait reports whether the read is to begin; false when it was ended before. over says
// that it was ended before wait was called.
func (w *watch) wait(over *atomic.Bool) bool {
	if w.timer == nil {
		w.timer = time.NewTimer(w.after)
	} else {
		w.timer.Reset(w.after)
	}
	w.mu.Lock()
	w.waiting = true
	w.waits.Store(true)
	w.mu.Unlock()
	if over.Load() {
		w.end()
	}
	select {
	case <-w.ended:
		w.timer.Stop()
		return false
	case <-w.timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting {
		<-w.ended
		return false
	}
	w.waiting = false
	w.waits.Store(false)
	return true
}

// end reports whether it has ended a wait.
func (w *watch) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.waiting {
		return false
	}
	w.waiting = false
	w.waits.Store(false)
	w.ended <- struct{}{}
	return true
}
