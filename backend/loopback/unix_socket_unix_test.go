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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// shortDir returns a directory whose path fits into a socket address; t.TempDir of a test with a
// long name may not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	require.NoError(t, err)
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
	require.NoError(t, err)
	serveOn(t, ln, "by socket")
	info, err := os.Stat(SocketFile(dir))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	// Nothing listens on the port, so the response can only come through the socket.
	got, err := ask(t, dir, "http://127.0.0.1:1/")
	require.Equal(t, "by socket", got, err)

	// Other users are rejected even if the mode of the socket has been changed.
	other := shortDir(t)
	if ln, err = ListenSocket(other); err != nil {
		t.Fatal(err)
	}
	ln.(*boundedListener).Listener.(*userListener).users[0]++
	serveOn(t, ln, "too much")
	c, err := net.Dial("unix", SocketFile(other))
	require.NoError(t, err)
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
	require.NoError(t, err)
	serveOn(t, tcp, "by tcp")
	url := "http://" + tcp.Addr().String() + "/"
	got, err := ask(t, dir, url)
	assert.Equal(t, "by tcp", got, err)
	// Left behind by a daemon that was killed.
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: SocketFile(dir)})
	require.NoError(t, err)
	left.SetUnlinkOnClose(false)
	_ = left.Close()
	got, err = ask(t, dir, url)
	assert.Equal(t, "by tcp", got, err)
	ln, err := ListenSocket(dir)
	require.NoError(t, err, "a dead socket stands in the way")
	serveOn(t, ln, "by socket")
	got, err = ask(t, dir, url)
	assert.Equal(t, "by socket", got, err)
}

func TestUnusableSocketErrorSuggestsRemedy(t *testing.T) {
	t.Parallel()
	deep := filepath.Join(shortDir(t), strings.Repeat("d", 110))
	require.NoError(t, os.Mkdir(deep, 0o700))
	_, err := ListenSocket(deep)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "longer than 103"), "a long path: %v", err)
	dir := shortDir(t)
	require.NoError(t, os.WriteFile(SocketFile(dir), []byte("mine"), 0o600))
	_, err = ListenSocket(dir)
	assert.Error(t, err, "a file of somebody's is replaced")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Dialer(dir)(ctx, "tcp", "127.0.0.1:1")
	assert.Error(t, err, "a dial that was given up goes on")
}
