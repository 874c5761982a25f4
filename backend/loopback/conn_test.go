package loopback

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
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

// The read by which net/http hears of a client that leaves does not begin while a call is
// young, ends when it is told to, and finds the bytes that come.
func TestAReadOfOneByteWaitsFirst(t *testing.T) {
	ours, system, theirs := ends(t)
	ours.watch.after = time.Hour // it would wait for as long, were it not ended
	var one [1]byte
	for range 50 {
		ended := make(chan error, 1)
		go func() {
			_, err := ours.Read(one[:])
			ended <- err
		}()
		for !ours.watch.waits.Load() && len(ended) == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		_ = ours.SetReadDeadline(time.Unix(1, 0))
		if err := <-ended; !isTimeout(err) || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		if _, err := ours.Read(make([]byte, 2)); !isTimeout(err) {
			t.Fatalf("a read behind a deadline that has passed: %v", err)
		}
		_ = ours.SetReadDeadline(time.Time{})
	}
	if len(system.read) > 0 {
		t.Errorf("the system was told %d times", len(system.read))
	}
	// It is ended also when that is said before it has begun: net/http starts it in a
	// goroutine of its own, and waits for its end.
	for range 200 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = ours.Read(one[:])
		}()
		_ = ours.SetReadDeadline(time.Unix(1, 0))
		<-ended
		_ = ours.SetReadDeadline(time.Time{})
	}
	ours.watch.after = time.Millisecond
	_, _ = theirs.Write([]byte("a"))
	if n, err := ours.Read(one[:]); n != 1 || err != nil || one[0] != 'a' {
		t.Errorf("%d %v %q", n, err, one)
	}
	theirs.Close()
	if _, err := ours.Read(one[:]); err != io.EOF {
		t.Errorf("the client left: %v", err)
	}
}

// A request whose client leaves is over for its handler, as ever.
func TestAHandlerHearsOfAClientThatLeaves(t *testing.T) {
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
