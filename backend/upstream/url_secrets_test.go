package upstream

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

// The userinfo and the query of a URL may contain secrets: no error and no log line contains them,
// whatever the server responds, and even if it does not respond.
func TestErrorsNeverContainURLSecrets(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"not found":    http.NotFound,
		"unauthorized": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/?k=hunter3", http.StatusTemporaryRedirect)
		},
		"breaks off": func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_ = conn.Close()
		},
		"nobody": nil,
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(answer)
			host := strings.TrimPrefix(srv.URL, "http://")
			defer srv.Close()
			if answer == nil {
				srv.Close()
			}
			var log bytes.Buffer
			c, err := Connect(t.Context(), Options{
				Server: "test", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
				Remote: &Remote{URL: "http://bob:hunter2@" + host + "/mcp?api_key=hunter3", HTTP: &http.Client{}},
			})
			if err == nil {
				_ = c.Close(t.Context())
				t.Fatal("it connects")
			}
			message, hint := core.Describe(err)
			for _, said := range []string{err.Error(), message, hint, log.String()} {
				assert.NotContains(t, said, "hunter2", "a secret is repeated")
				assert.NotContains(t, said, "hunter3", "a secret is repeated")
			}
		})
	}
}
