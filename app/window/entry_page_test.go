package window

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func page(t *testing.T, e *entryPage) string {
	t.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, http.StatusOK, w.Code, "the window's own page answers")
	return w.Body.String()
}

func healthy(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func nobody(context.Context) string { return "" }

func TestStartPageOpensDaemonWithCode(t *testing.T) {
	e := newEntryPage(healthy(t).URL+"/#code=a%22b", nobody)
	got := page(t, e)
	require.Contains(t, got, `location.replace("`, "the page leads nowhere")
	require.Contains(t, got, "#code=a%22b", "the page leads nowhere")
}

func TestStartPageExplainsMissingDaemon(t *testing.T) {
	gone := healthy(t)
	e := newEntryPage(gone.URL, nobody)
	gone.Close()
	got := page(t, e)
	if strings.Contains(got, "location.replace") || !strings.Contains(got, "Drawbridge is not running") || !strings.Contains(got, "location.reload") {
		t.Fatalf("got\n%s", got)
	}
}

func TestStartPageFindsMovedDaemon(t *testing.T) {
	gone, moved := healthy(t), healthy(t)
	e := newEntryPage(gone.URL, nobody)
	gone.Close()
	e.requestAddress = func(context.Context) string { return moved.URL + "/#code=x\n" }
	require.Contains(t, page(t, e), "location.replace")
	require.Equal(t, moved.URL, e.origin())
}

func TestStartPageStaysOnLoopback(t *testing.T) {
	for _, address := range []string{
		"http://example.com/", "https://127.0.0.1/", "javascript:alert(1)", "file:///etc/passwd",
		"http://127.0.0.1@example.com/", "http://me:pw@127.0.0.1:7575/", "http://127.0.0.1.example.com/", "",
	} {
		assert.Emptyf(t, localAddress(address), "localAddress(%q)", address)
	}
	for _, address := range []string{"http://127.0.0.1:7575/#code=1", "http://localhost:1/", "http://[::1]:7575", "http://127.0.0.2:7575"} {
		assert.Equal(t, address, localAddress(address))
	}
}

func TestStartPageUsesCodeOnce(t *testing.T) {
	at := healthy(t).URL
	e := newEntryPage(at+"/#code=first", func(context.Context) string { return at + "/#code=second" })
	require.Contains(t, page(t, e), "#code=first")
	require.Contains(t, page(t, e), "#code=second", "a page that is loaded anew gets")
}

func TestStartPageWaitsAfterFailedLoad(t *testing.T) {
	at := healthy(t).URL
	e := newEntryPage(at+"/#code=first", func(context.Context) string { return at + "/#code=second" })
	page(t, e)
	for range 3 {
		e.fail()
		if got := page(t, e); strings.Contains(got, "location.replace") || !strings.Contains(got, "Drawbridge is not running") || !strings.Contains(got, "location.reload") {
			t.Fatalf("after a failure it goes round and round:\n%s", got)
		}
		require.Contains(t, page(t, e), "#code=second", "it does not try again")
	}
}
