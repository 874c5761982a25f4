package window

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func page(t *testing.T, e *entryPage) string {
	t.Helper()
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("the window's own page answers %d", w.Code)
	}
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
	if !strings.Contains(got, `location.replace("`) || !strings.Contains(got, "#code=a%22b") {
		t.Fatalf("the page leads nowhere:\n%s", got)
	}
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
	if got := page(t, e); !strings.Contains(got, "location.replace") {
		t.Fatalf("got\n%s", got)
	}
	if e.origin() != moved.URL {
		t.Fatalf("leads to %s", e.origin())
	}
}

func TestStartPageStaysOnLoopback(t *testing.T) {
	for _, address := range []string{
		"http://example.com/", "https://127.0.0.1/", "javascript:alert(1)", "file:///etc/passwd",
		"http://127.0.0.1@example.com/", "http://me:pw@127.0.0.1:7575/", "http://127.0.0.1.example.com/", "",
	} {
		if got := localAddress(address); got != "" {
			t.Errorf("localAddress(%q) = %q", address, got)
		}
	}
	for _, address := range []string{"http://127.0.0.1:7575/#code=1", "http://localhost:1/", "http://[::1]:7575", "http://127.0.0.2:7575"} {
		if got := localAddress(address); got != address {
			t.Errorf("localAddress(%q) = %q", address, got)
		}
	}
}

func TestStartPageUsesCodeOnce(t *testing.T) {
	at := healthy(t).URL
	e := newEntryPage(at+"/#code=first", func(context.Context) string { return at + "/#code=second" })
	if got := page(t, e); !strings.Contains(got, "#code=first") {
		t.Fatalf("got\n%s", got)
	}
	if got := page(t, e); !strings.Contains(got, "#code=second") {
		t.Fatalf("a page that is loaded anew gets\n%s", got)
	}
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
		if got := page(t, e); !strings.Contains(got, "#code=second") {
			t.Fatalf("it does not try again:\n%s", got)
		}
	}
}
