package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newForgetfulServer is a legacy server that has lost every session and opens new ones slowly. Its
// GET stream ends soon.
func newForgetfulServer(t *testing.T) (url string) {
	var hello atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case !strings.Contains(string(body), `"initialize"`):
			w.WriteHeader(http.StatusNotFound)
		case hello.Add(1) > 1:
			<-r.Context().Done()
		default:
			w.Header().Set("Mcp-Session-Id", "first")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func openForgetfulServer(t *testing.T) *Remote {
	t.Helper()
	r := openRemote(t, RemoteOptions{URL: newForgetfulServer(t)})
	t.Cleanup(func() { r.fail(errors.New("the test is over")) }) // no DELETE: the server does not listen
	return r
}

// A call whose deadline passes while a lost session is replaced fails, rather than returning an
// empty reply. The next call tries to replace the session again.
func TestCallEndingDuringSessionReplacementFails(t *testing.T) {
	t.Parallel()
	r := openForgetfulServer(t)
	over := errors.New("no more time")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, over)
	defer cancel()
	reply, err := r.Call(ctx, "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
	assert.ErrorIs(t, err, over, reply.Result)
	assert.NoError(t, r.Err(), "the connection is given up")
}

// If the server never opens another session, the connection ends, even if only the GET stream waits
// for it, which has no deadline.
func TestUnreplacedSessionEndsConnection(t *testing.T) {
	t.Parallel()
	r := openForgetfulServer(t)
	r.renewTimeout = 100 * time.Millisecond
	r.readyOnce.Do(func() { close(r.ready) })
	ran := make(chan error, 1)
	go func() { ran <- r.Run() }()
	select {
	case err := <-ran:
		require.ErrorIs(t, err, errSessionLost)
		require.Contains(t, err.Error(), "did not respond within 100ms")
	case <-time.After(20 * time.Second):
		t.Error("everybody waits for ever")
		r.fail(errors.New("the test is over"))
		<-ran
	}
}

// Event ids are sent back in a header, so oversized ids are not stored.
func TestStreamIsNotResumedAfterOversizedEventID(t *testing.T) {
	t.Parallel()
	var p resumption
	p.record(Event{ID: "a"})
	p.record(Event{ID: strings.Repeat("x", maxEventID+1)})
	assert.Empty(t, p.lastEventID)
	p.record(Event{ID: "b"})
	assert.Equal(t, "b", p.lastEventID)
}

// countedBody counts bodies that are not closed.
type countedBody struct {
	io.ReadCloser
	open *atomic.Int64
	once sync.Once
}

func (b *countedBody) Close() error {
	b.once.Do(func() { b.open.Add(-1) })
	return b.ReadCloser.Close()
}

type countingTransport struct{ open, most atomic.Int64 }

func (c *countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err == nil {
		n := c.open.Add(1)
		c.most.Store(max(c.most.Load(), n))
		resp.Body = &countedBody{ReadCloser: resp.Body, open: &c.open}
	}
	return resp, err
}

// A server that ends the stream of a call after each event must not make the call keep all streams
// open.
func TestResumedStreamIsClosedBeforeNext(t *testing.T) {
	const streams = 12
	var opened atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"initialize"`) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := opened.Add(1)
		if n < streams {
			fmt.Fprintf(w, "id: e%d\nretry: 1\ndata:\n\n", n)
			return
		}
		fmt.Fprint(w, "id: last\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}\n\n")
	}))
	defer server.Close()
	transport := new(countingTransport)
	r := openRemote(t, RemoteOptions{URL: server.URL, HTTP: &http.Client{Transport: transport}})
	_, err := r.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
	require.NoError(t, err)
	if most := transport.most.Load(); opened.Load() != streams || most > 2 {
		t.Errorf("%d streams, of which %d were open at once", opened.Load(), most)
	}
}

// signInEndingTransport is an HTTP client whose sign-in ends with the request: the owner of the
// connection hears of it and closes the connection before the request returns.
type signInEndingTransport struct{ closeConnection func() }

func (l signInEndingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	l.closeConnection()
	<-r.Context().Done()
	return nil, &core.Error{Code: core.CodeUnauthorized, Message: "sign in", Cause: core.ErrNeedsLogin}
}

func TestCallThatEndsSignInReturnsItAlthoughConnectionCloses(t *testing.T) {
	t.Parallel()
	var r *Remote
	r, err := NewRemote(RemoteOptions{Server: "out", URL: "http://out.invalid", HTTP: &http.Client{
		Transport: signInEndingTransport{func() { r.fail(errors.New("restarted")) }},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	if _, err = r.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil); core.CodeOf(err) != core.CodeUnauthorized {
		t.Errorf("the caller is told %v", err)
	}
}
