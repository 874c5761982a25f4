//go:build !windows

package loopback

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shortDir returns a directory whose path fits into a socket address; t.TempDir of a test with a
// long name may not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func serveOn(t *testing.T, ln net.Listener, says string) {
	t.Helper()
	server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, says) }))
	done := make(chan struct{})
	go func() { _ = server.Serve(ln); close(done) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
}

func ask(t *testing.T, dir, url string) (string, error) {
	t.Helper()
	transport := &http.Transport{DialContext: Dialer(dir)}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestSocketIsPrivateToUser(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	defer unix.Umask(unix.Umask(0))
	ln, err := ListenSocket(dir)
	must(t, err)
	serveOn(t, ln, "by socket")
	info, err := os.Stat(SocketFile(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	// Nothing listens on the port, so the response can only come through the socket.
	if got, err := ask(t, dir, "http://127.0.0.1:1/"); got != "by socket" {
		t.Fatalf("%q %v", got, err)
	}

	// Other users are rejected even if the mode of the socket has been changed.
	other := shortDir(t)
	if ln, err = ListenSocket(other); err != nil {
		t.Fatal(err)
	}
	ln.(*boundedListener).Listener.(*userListener).users[0]++
	serveOn(t, ln, "too much")
	c, err := net.Dial("unix", SocketFile(other))
	must(t, err)
	defer c.Close()
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if got, _ := io.ReadAll(c); len(got) != 0 {
		t.Errorf("another user got %q", got)
	}
}

func TestUnresponsiveSocketFallsBackToTCP(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	tcp, err := Listen("127.0.0.1:0")
	must(t, err)
	serveOn(t, tcp, "by tcp")
	url := "http://" + tcp.Addr().String() + "/"
	if got, err := ask(t, dir, url); got != "by tcp" {
		t.Errorf("no socket: %q %v", got, err)
	}
	// Left behind by a daemon that was killed.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: SocketFile(dir)})
	must(t, err)
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	if got, err := ask(t, dir, url); got != "by tcp" {
		t.Errorf("a dead socket: %q %v", got, err)
	}
	ln, err := ListenSocket(dir)
	if err != nil {
		t.Fatalf("a dead socket stands in the way: %v", err)
	}
	serveOn(t, ln, "by socket")
	if got, err := ask(t, dir, url); got != "by socket" {
		t.Errorf("a new socket: %q %v", got, err)
	}
}

func TestUnusableSocketErrorSuggestsRemedy(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(shortDir(t), strings.Repeat("d", 110))
	must(t, os.Mkdir(deep, 0o700))
	if _, err := ListenSocket(deep); err == nil || !strings.Contains(err.Error(), "longer than 103") {
		t.Errorf("a long path: %v", err)
	}
	dir := shortDir(t)
	must(t, os.WriteFile(SocketFile(dir), []byte("mine"), 0o600))
	if _, err := ListenSocket(dir); err == nil {
		t.Error("a file of somebody's is replaced")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dialer(dir)(ctx, "tcp", "127.0.0.1:1"); err == nil {
		t.Error("a dial that was given up goes on")
	}
}
