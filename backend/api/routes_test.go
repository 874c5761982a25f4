package api

import "testing"

// Startup does not initialize what only a page, a command or a script needs.
func TestOperationsAreBuiltOnFirstRequest(t *testing.T) {
	s := newSite(t)
	built, build := 0, s.api.operations
	s.api.operations = func() *routes { built++; return build() }
	for _, path := range []string{"/healthz", "/health", "/", "/metrics"} {
		s.ask(t, "GET", path, "")
	}
	if status, _, _ := s.plain(t, "GET", "/api/v1/status", ""); status != 401 || built != 0 {
		t.Errorf("without a token: %d, and %d times something was built", status, built)
	}
	if status, _, _ := s.ask(t, "GET", "/api/v1/status", ""); status != 200 || built == 0 {
		t.Errorf("with it: %d, %d", status, built)
	}
}
