package loopback

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// scripted is the connection of the system: it notes the deadlines that it is told.
type scripted struct {
	net.Conn
	read, write []time.Time
	short       int           // the first write ends behind so many bytes, as if its time were over
	asked       chan struct{} // if there, holds a signal for each read that began
}

func (s *scripted) Read(p []byte) (int, error) {
	if s.asked != nil {
		s.asked <- struct{}{}
	}
	return s.Conn.Read(p)
}

func (s *scripted) Write(p []byte) (int, error) {
	if s.short > 0 {
		p, s.short = p[:s.short], 0
		_ = s.Conn.SetWriteDeadline(time.Time{}) // it may have passed in earnest
		n, _ := s.Conn.Write(p)
		return n, os.ErrDeadlineExceeded
	}
	return s.Conn.Write(p)
}

func (s *scripted) SetReadDeadline(t time.Time) error {
	s.read = append(s.read, t)
	return s.Conn.SetReadDeadline(t)
}

func (s *scripted) SetWriteDeadline(t time.Time) error {
	s.write = append(s.write, t)
	return s.Conn.SetWriteDeadline(t)
}

// ends are both ends of a connection over TCP, ours as a server has it.
func ends(t *testing.T) (ours *boundedConn, system *scripted, theirs net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := ln.Accept()
		accepted <- c
	}()
	if theirs, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	system = &scripted{Conn: <-accepted}
	ours = newBoundedConn(system, func() {})
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, system, theirs
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

// A deadline that moves to a later time costs nothing, and holds all the same: it is the one
// that was set last.
func TestADeadlineThatMovesOnIsKept(t *testing.T) {
	t.Parallel()
	ours, system, theirs := ends(t)
	began := time.Now()
	for i := range 100 {
		_ = ours.SetReadDeadline(began.Add(20*time.Millisecond + time.Duration(i)*time.Millisecond))
	}
	if len(system.read) != 1 {
		t.Errorf("the system was told %d times", len(system.read))
	}
	var two [2]byte
	if _, err := ours.Read(two[:]); !isTimeout(err) || time.Since(began) < 119*time.Millisecond {
		t.Errorf("%v after %s", err, time.Since(began))
	}
	_ = ours.SetReadDeadline(time.Time{})
	system.asked = make(chan struct{}, 9)
	go func() {
		<-system.asked // which ends at the deadline that was, and is asked again
		<-system.asked
		_, _ = theirs.Write([]byte("ab"))
	}()
	if n, err := ours.Read(two[:]); err != nil || n == 0 {
		t.Errorf("without a deadline: %v", err)
	}
	// An earlier one counts at once, also for a read that waits already.
	_ = ours.SetReadDeadline(time.Now().Add(time.Hour))
	go func() {
		<-system.asked
		_ = ours.SetReadDeadline(time.Unix(1, 0))
	}()
	if _, err := ours.Read(two[:]); !isTimeout(err) {
		t.Errorf("a read that was to end: %v", err)
	}
}

// What a client does not take in time ends at the deadline that was set last, and what it
// took before is not sent twice.
func TestAWriteGoesOnBehindADeadlineThatMoved(t *testing.T) {
	t.Parallel()
	ours, system, theirs := ends(t)
	_ = ours.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	_ = ours.SetWriteDeadline(time.Now().Add(30 * time.Second))
	const size = 32 << 20 // more than fits between
	system.short = 1 << 10
	got := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(theirs)
		got <- string(all)
	}()
	n, err := ours.Write([]byte(strings.Repeat("x", size-1) + "y"))
	if err != nil || n != size {
		t.Fatalf("%d bytes: %v", n, err)
	}
	ours.Close()
	if all := <-got; len(all) != size || all[size-1] != 'y' || strings.Count(all, "y") != 1 {
		t.Errorf("%d bytes arrived", len(all))
	}
	ours, _, _ = ends(t)
	_ = ours.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := ours.Write(make([]byte, size)); !isTimeout(err) {
		t.Errorf("nobody reads, and it ends with %v", err)
	}
}

// hears makes the connection hear by itself, and returns what is closed when its client has left.
func (c *boundedConn) hears() <-chan struct{} {
	left := make(chan struct{})
	c.ear.left = sync.OnceFunc(func() { close(left) })
	return left
}

// reads reports whether the ear reads.
func (e *ear) reads() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done != nil
}

func (e *ear) awaitRead(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !e.reads(); {
		if time.Now().After(end) {
			t.Fatal("nothing is read")
		}
		time.Sleep(time.Millisecond)
	}
}

// The read by which net/http hears of a client that leaves ends at once, and of a short
// request nothing else is done. Of a long one, what its client sends too early is kept for
// the next read, and a read that waits goes out of the way.
func TestAClientIsHeardWhileARequestTakesLong(t *testing.T) {
	t.Parallel()
	ours, system, theirs := ends(t)
	left := ours.hears()
	ours.ear.after = time.Hour
	var one [1]byte
	two := make([]byte, 2)
	for i := range 1000 {
		if n, err := ours.Read(one[:]); n != 0 || err != nil {
			t.Fatalf("%d %v", n, err)
		}
		_, _ = theirs.Write([]byte{byte(i), 'x'})
		if n, err := io.ReadFull(ours, two); n != 2 || err != nil || two[0] != byte(i) {
			t.Fatalf("request %d: %q %v", i, two[:n], err)
		}
	}
	if len(system.read) > 0 {
		t.Errorf("the system was told %d times", len(system.read))
	}
	ours.ear.mu.Lock()
	ours.ear.after = time.Millisecond
	ours.ear.arm(ours.ear.after) // an hour had been set
	ours.ear.mu.Unlock()
	_, _ = ours.Read(one[:])
	ours.ear.awaitRead(t)
	_, _ = theirs.Write([]byte("ab"))
	for end := time.Now().Add(20 * time.Second); ours.ear.reads(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what comes too early is not read")
		}
	}
	if n, err := io.ReadFull(ours, two); n != 2 || err != nil || string(two) != "ab" {
		t.Fatalf("%q %v", two[:n], err)
	}
	for range 20 {
		_, _ = ours.Read(one[:])
		ours.ear.awaitRead(t)
		got := make(chan string, 1)
		go func() {
			n, _ := io.ReadFull(ours, two)
			got <- string(two[:n])
		}()
		for ours.ear.reads() {
			time.Sleep(time.Millisecond)
		}
		_, _ = theirs.Write([]byte("cd"))
		if all := <-got; all != "cd" {
			t.Fatalf("%q", all)
		}
	}
	// Nor does it go on behind a deadline that has passed, by which net/http ends a read.
	_, _ = ours.Read(one[:])
	ours.ear.awaitRead(t)
	_ = ours.SetReadDeadline(time.Unix(1, 0))
	if ours.ear.reads() {
		t.Error("it still reads")
	}
	if _, err := ours.Read(two); !isTimeout(err) {
		t.Errorf("a read behind a deadline that has passed: %v", err)
	}
	_ = ours.SetReadDeadline(time.Time{})
	select {
	case <-left:
		t.Fatal("the client is said to have left")
	default:
	}
	_, _ = ours.Read(one[:])
	theirs.Close()
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("nobody heard that the client left")
	}
	if _, err := ours.Read(two); err != io.EOF {
		t.Errorf("the client left: %v", err)
	}
}

// A second read of one byte in a row is meant in earnest: answered with nothing, as the
// first one, whoever asks would ask for ever.
func TestASecondReadOfOneByteWaitsForIt(t *testing.T) {
	t.Parallel()
	ours, _, theirs := ends(t)
	ours.hears()
	one := make([]byte, 1)
	if n, err := ours.Read(one); n != 0 || err != nil {
		t.Fatalf("the first: %d %v", n, err)
	}
	if _, err := theirs.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := ours.Read(one); n != 1 || err != nil || one[0] != 'x' {
		t.Errorf("the second: %d %q %v", n, one[:n], err)
	}
}

// The timer that an earlier request set may ring while one is young: that one is not heard yet.
func TestAYoungRequestIsNotHeardYet(t *testing.T) {
	t.Parallel()
	ours, _, _ := ends(t)
	ours.hears()
	ours.ear.after = time.Hour
	_, _ = ours.Read(make([]byte, 1))
	rung := make(chan struct{})
	go func() { ours.ear.listen(); close(rung) }()
	select {
	case <-rung:
	case <-time.After(20 * time.Second):
		t.Error("it is heard")
	}
	ours.ear.mu.Lock()
	defer ours.ear.mu.Unlock()
	if !ours.ear.armed {
		t.Error("nobody looks at it again")
	}
}

// Nothing is heard any more of a connection that is closed.
func TestAnEarEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{false, true} {
		ours, _, _ := ends(t)
		left := ours.hears()
		_, _ = ours.Read(make([]byte, 1))
		if long {
			ours.ear.awaitRead(t)
		}
		ours.Close()
		<-left
		for end := time.Now().Add(20 * time.Second); ours.ear.reads(); {
			if time.Now().After(end) {
				t.Fatal("it still reads")
			}
			time.Sleep(time.Millisecond)
		}
		for range 2 { // whoever asks now
			_, _ = ours.Read(make([]byte, 1))
		}
		ours.ear.mu.Lock()
		if long && ours.ear.armed {
			t.Error("it would read again")
		}
		ours.ear.mu.Unlock()
	}
}

// A request whose client leaves is over for its handler, as ever.
func TestAHandlerHearsOfAClientThatLeaves(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	left, begun := make(chan struct{}), make(chan struct{})
	srv := NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(begun)
		select {
		case <-r.Context().Done():
			close(left)
		case <-time.After(30 * time.Second):
		}
	}))
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(ln) }()
	defer func() { srv.Close(); <-served }()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+ln.Addr().String(), strings.NewReader("{}"))
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-begun
	cancel()
	select {
	case <-left:
	case <-time.After(20 * time.Second):
		t.Error("the handler was not told")
	}
}
