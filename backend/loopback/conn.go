package loopback

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// boundedConn is one connection of a bounded listener. net/http sets ten deadlines in the
// course of a request, and reads one byte beyond it, in a goroutine of its own, to hear when its client leaves. Both
// cost more than what a call needs besides, and hardly ever matter: deadlines nearly
// always move to a later time, and most calls are over before anybody could leave. So
// the system's connection is told of an earlier deadline only, and that read ends
// at once and empty: see ear.
type boundedConn struct {
	net.Conn
	once    sync.Once
	release func()

	born             time.Time
	reading, writing deadline
	ear              ear
}

func newBoundedConn(c net.Conn, release func()) *boundedConn {
	b := &boundedConn{Conn: c, release: release, born: time.Now()}
	b.reading.set, b.writing.set = c.SetReadDeadline, c.SetWriteDeadline
	b.ear.conn, b.ear.after = b, hearAfter
	return b
}

// connContext is for http.Server.ConnContext.
func connContext(ctx context.Context, c net.Conn) context.Context {
	if b, ok := c.(*boundedConn); ok {
		ctx, b.ear.left = context.WithCancel(ctx)
	}
	return ctx
}

func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.ear.close()
	c.once.Do(c.release)
	return err
}

// Read implements net.Conn. A read into a single byte is the one by which net/http hears of
// a client that leaves. It takes one that is empty and no error for done.
func (c *boundedConn) Read(p []byte) (int, error) {
	if cap(p) == 1 && c.ear.begin() {
		return 0, nil
	}
	if n := c.ear.end(p); n > 0 {
		return n, nil
	}
	return c.read(p, nil)
}

// read reads until the deadline that is wanted, or until stopped says so.
func (c *boundedConn) read(p []byte, stopped func() bool) (int, error) {
	for stopped == nil || !stopped() {
		n, err := c.Conn.Read(p)
		if n > 0 || err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || c.reading.passed() {
			return n, err
		}
	}
	return 0, os.ErrDeadlineExceeded
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
	if !t.IsZero() && t.Before(c.born) { // net/http ends a read by that
		c.ear.end(nil)
	}
	return c.reading.ask(t)
}

func (c *boundedConn) SetWriteDeadline(t time.Time) error { return c.writing.ask(t) }

func (c *boundedConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// deadline is one that moves often and passes hardly ever. Zero times are no deadline.
type deadline struct {
	set func(time.Time) error // of the system's connection

	mu            sync.Mutex // guards what follows
	wanted, armed time.Time  // armed is what set was told, never later than wanted
}

// ask makes t the deadline.
func (d *deadline) ask(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = t
	if d.armed.IsZero() && t.IsZero() || !d.armed.IsZero() && (t.IsZero() || t.After(d.armed)) {
		return nil
	}
	d.armed = t
	return d.set(t)
}

// interrupt ends a read that is under way, whatever deadline is wanted.
func (d *deadline) interrupt() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = time.Unix(1, 0)
	_ = d.set(d.armed)
}

// resume lets reads go on after interrupt.
func (d *deadline) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = d.wanted
	_ = d.set(d.armed)
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
