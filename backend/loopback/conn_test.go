package loopback

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

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
