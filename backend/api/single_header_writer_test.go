package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// disconnectedWriter is a ResponseWriter whose client disconnects before the body is written.
type disconnectedWriter struct {
	http.ResponseWriter
	leave context.CancelFunc
	heads []int
}

func (l *disconnectedWriter) WriteHeader(status int) { l.heads = append(l.heads, status) }

func (l *disconnectedWriter) Write([]byte) (int, error) {
	l.leave()
	return 0, errors.New("broken pipe")
}

func TestResponseHeaderIsWrittenOnceAfterDisconnect(t *testing.T) {
	s := newSite(t)
	ctx, leave := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "/api/v1/servers", nil)
	r.Header.Set("Authorization", "Bearer "+s.admin)
	w := &disconnectedWriter{ResponseWriter: httptest.NewRecorder(), leave: leave}
	s.api.ServeHTTP(w, r)
	if len(w.heads) != 1 || w.heads[0] != http.StatusOK {
		t.Errorf("these heads were written: %v", w.heads)
	}
	if ctx.Err() == nil {
		t.Error("nothing was written")
	}
}
