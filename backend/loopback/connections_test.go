package loopback

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/require"
)

// The context of a request is cancelled when its client disconnects.
func TestHandlerIsCancelledWhenClientDisconnects(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
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
	eventually.Receive(t, 20*time.Second, "the handler was not told", left)
}

// TestIdleConnectionsAreEvictedFirst checks that connections without a token are not kept alive,
// because they would occupy slots until the idle timeout.
func TestIdleConnectionsAreEvictedFirst(t *testing.T) {
	t.Parallel()
	ln, err := Listen("127.0.0.1:0")
	require.NoError(t, err)
	host := ln.Addr().String()
	guard := Guard(GuardOptions{Port: uint16(ln.Addr().(*net.TCPAddr).Port)})
	srv := NewServer(guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer wrong" {
			writeProblem(w, http.StatusUnauthorized, core.CodeUnauthorized, "", "")
		}
	})))
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(ln) }()
	defer func() { srv.Close(); <-served }()
	for _, c := range []struct {
		about, request string
		status         int
		closed         bool
	}{
		{"nothing", "GET /healthz HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 200, true},
		{"a wrong token", "GET / HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer wrong\r\n\r\n", 401, true},
		{"a foreign host", "GET / HTTP/1.1\r\nHost: evil.test\r\nAuthorization: Bearer right\r\n\r\n", 403, true},
		{"options of everything", "OPTIONS * HTTP/1.1\r\nHost: evil.test\r\n\r\n", 403, true},
		{"a token", "GET / HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer right\r\n\r\n", 200, false},
		{"a cookie", "GET / HTTP/1.1\r\nHost: " + host + "\r\nCookie: a=b\r\n\r\n", 200, false},
	} {
		conn, err := net.Dial("tcp", host)
		require.NoError(t, err)
		_, _ = io.WriteString(conn, c.request)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, c.about)
		require.Equal(t, c.status, resp.StatusCode, c.about)
		require.Equal(t, c.closed, resp.Close, c.about)
		_ = conn.Close()
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	b := &boundedListener{Listener: inner, free: make(chan struct{}, 1), done: make(chan struct{})}
	accepted := make(chan net.Conn)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			c, err := b.Accept()
			if err != nil {
				return
			}
			accepted <- c
		}
	}()
	for range 2 {
		c, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
	}
	first := <-accepted
	select {
	case <-accepted:
		t.Fatal("two connections where one is allowed")
	case <-time.After(50 * time.Millisecond):
	}
	_ = first.Close()
	_ = first.Close() // must not release a second slot
	second := <-accepted
	_ = second.Close()
	_ = b.Close()
	<-stopped
}
