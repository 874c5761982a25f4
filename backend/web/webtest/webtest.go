// Package webtest serves the operations of one feature to its tests. It is never shipped.
package webtest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Site is the operations of a feature, without the checks of who may call them.
type Site struct{ Mux *http.ServeMux }

// New returns the operations of a feature.
func New(f web.Feature) *Site {
	s := &Site{http.NewServeMux()}
	same := func(text string) (string, error) { return text, nil }
	cfg := huma.DefaultConfig("", "")
	cfg.CreateHooks = nil // no $schema links
	f.Routes(web.NewRouter(humago.New(s.Mux, cfg), slog.New(slog.DiscardHandler), same))
	return s
}

// Ask sends a request with a JSON body. headers are names, each with a value.
func (s *Site) Ask(method, path, body string, headers ...string) (int, string) {
	w := s.Record(method, path, body, headers...)
	return w.Code, w.Body.String()
}

// Record is Ask with the whole response.
func (s *Site) Record(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	s.Mux.ServeHTTP(w, r)
	return w
}

// Do sends a POST request and checks the status of its response.
func (s *Site) Do(t *testing.T, path, body string, want int) string {
	t.Helper()
	status, got := s.Ask(http.MethodPost, path, body)
	if status != want {
		t.Fatalf("POST %s: %d %s, want %d", path, status, got, want)
	}
	return got
}

// Want checks the status of a response, and that it contains texts.
func (s *Site) Want(t *testing.T, method, path, body string, status int, texts ...string) {
	t.Helper()
	got, answer := s.Ask(method, path, body)
	if got != status || slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(answer, text) }) {
		t.Errorf("%s %s %.200s: got %d %s, want %d %q", method, path, body, got, answer, status, texts)
	}
}

// Get reads a document.
func (s *Site) Get(t *testing.T, path string, into any) {
	t.Helper()
	if status, body := s.Ask(http.MethodGet, path, ""); status != 200 || json.Unmarshal([]byte(body), into) != nil {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
}
