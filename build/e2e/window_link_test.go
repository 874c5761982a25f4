//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"

	"github.com/stretchr/testify/require"
)

// A link may arrive while the page is still loading. It must not replace the code in the page's
// address, or the sign-in would fail, and it must not be lost.
func TestLinkWaitsForPageSession(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	lock, err := loopback.Lock(s.home)
	require.NoError(t, err)
	defer lock.Close()
	_, err = loopback.OpenAdminToken(s.home)
	require.NoError(t, err)
	told, seen := make(chan struct{}), make(chan string, 8)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>x</title><script src="/slow.js"></script>`)
	})
	// The page starts after the window has received the link, and a moment later.
	mux.HandleFunc("GET /slow.js", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-told:
			<-time.After(300 * time.Millisecond)
		case <-time.After(limit(3 * time.Second)):
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprint(w, `const say = () => fetch('/seen', {method: 'POST', body: location.hash})
addEventListener('hashchange', say)
say().then(() => { if (location.hash.includes('code=')) location.hash = '/' })`)
	})
	mux.HandleFunc("POST /seen", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- string(body)
	})
	mux.HandleFunc("GET /api/v1/window", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: {\"command\":\"focus\",\"to\":\"/servers/x?view=log\"}\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-told:
		default:
			close(told)
		}
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer server.CloseClientConnections()
	require.NoError(t, loopback.WriteRuntime(s.home, loopback.Runtime{PID: os.Getpid(), URL: server.URL, Version: "t", StartedAt: time.Now()}))
	cmd := s.command(window)
	cmd.Env = append(cmd.Env, "DRAWBRIDGE_WINDOW_URL="+server.URL+"/#code=once", "DRAWBRIDGE_WINDOW_DATA="+s.home)
	s.background(cmd)
	first := true
	for deadline := time.After(patience); ; first = false {
		select {
		case hash := <-seen:
			require.Falsef(t, first && !strings.HasPrefix(hash, "#code=once"), "the page begins at %q, without the code that lets it in", hash)
			if hash == "#/servers/x?view=log" || strings.Contains(hash, "to=%2Fservers%2Fx%3Fview%3Dlog") {
				return
			}
		case <-deadline:
			t.Fatal("the place of the link was lost")
		}
	}
}
