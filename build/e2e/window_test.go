//go:build e2e

package e2e

import (
	"fmt"
	"image"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const testPage = `<!doctype html><title>x</title><body style="background:#00a050;margin:0">
<script>fetch('/seen', {method: 'POST', body: JSON.stringify({hash: location.hash, wails: 'runtime' in window, go: 'go' in window})})</script>`

func TestWindowShowsPageOnce(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	seen := make(chan string, 4)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, testPage) })
	mux.HandleFunc("POST /seen", func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, r.ContentLength)
		r.Body.Read(body)
		seen <- string(body)
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	open := func() *exec.Cmd {
		cmd := s.command(window)
		cmd.Env = append(cmd.Env, "DRAWBRIDGE_WINDOW_URL="+server.URL+"/#code=once", "DRAWBRIDGE_WINDOW_DATA="+s.home)
		return cmd
	}
	first := open()
	s.background(first)
	select {
	case got := <-seen:
		assert.Equal(t, `{"hash":"#code=once","wails":false,"go":false}`, got, "the page sees")
	case <-time.After(patience):
		s.picture("window-failed")
		t.Fatal("the page was not loaded")
	}
	eventually.Complete(t, patience, func() string {
		if _, n := find(s.picture("window-page"), image.Rect(0, 0, 1400, 1000), 0x00, 0xa0, 0x50); n < 400_000 {
			return fmt.Sprintf("only %d pixels of the page are on the screen", n)
		}
		return ""
	})
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", first.Process.Pid))
	assert.NotContains(t, string(line), "code=", "the code can be read in the list of processes")

	second := open()
	require.NoError(t, second.Start())
	ended := make(chan error, 1)
	go func() { ended <- second.Wait() }()
	select {
	case <-ended:
	case <-time.After(patience):
		second.Process.Kill()
		t.Error("a second window stays")
	}
	assert.Len(t, s.windows("Drawbridge"), 1)

	closed := make(chan error, 1)
	go func() { closed <- first.Wait() }()
	s.closeWindow(s.home)
	assert.NoError(t, eventually.Receive(t, patience, "the window is gone and its program stays", closed), "closing the window ends its program")
	_, err := os.Stat(filepath.Join(s.home, "window.json"))
	assert.NoError(t, err, "the window forgot its place")
}

// The daemon responds, and has exited when the page is requested. The window explains that, and
// recovers without help.
func TestWindowRetriesFailedLoad(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	var whole atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if !whole.Load() {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `<!doctype html><title>x</title><body style="background:#00a050;margin:0">`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	cmd := s.command(window)
	cmd.Env = append(cmd.Env, "DRAWBRIDGE_WINDOW_URL="+server.URL+"/#code=once", "DRAWBRIDGE_WINDOW_DATA="+s.home)
	s.background(cmd)
	s.waitWindows(1)
	eventually.TrueWithin(t, patience, "the page that explains it is not shown", func() bool {
		// The logo of the entry page.
		_, n := find(s.picture("window-page-failed"), image.Rect(0, 200, 1400, 1000), 0x0f, 0x65, 0x77)
		return n >= 300
	})
	whole.Store(true)
	eventually.Complete(t, patience, func() string {
		if _, n := find(s.picture("window-page-after-failure"), image.Rect(0, 0, 1400, 1000), 0x00, 0xa0, 0x50); n < 400_000 {
			return fmt.Sprintf("only %d pixels of the page are on the screen", n)
		}
		return ""
	})
}

func TestWindowReportsMissingDaemon(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	cmd := s.command(window)
	cmd.Env = append(cmd.Env, "DRAWBRIDGE_WINDOW_URL=http://127.0.0.1:1/", "DRAWBRIDGE_DATA="+filepath.Join(s.home, "none"))
	s.background(cmd)
	s.waitWindows(1)
	eventually.TrueWithin(t, patience, "the page that explains it is not shown", func() bool {
		// The light background of the page.
		_, n := find(s.picture("window-no-daemon"), image.Rect(0, 60, 1400, 1000), 0xf6, 0xf5, 0xf2)
		return n >= 400_000
	})
}

// macOS starts the program of a bundle like this, without an address and a folder. A second window
// finds the first.
func TestStandaloneWindowStartsDaemon(t *testing.T) {
	t.Parallel()
	needWindow(t)
	s := desktop(t)
	data := filepath.Join(s.home, "data")
	open := func() *exec.Cmd {
		cmd := s.command(window)
		cmd.Env = append(cmd.Env, "DRAWBRIDGE_DATA="+data, "DRAWBRIDGE_KEYRING=off")
		return cmd
	}
	t.Cleanup(func() { s.command(binary, "quit", "--data", data).Run() })
	s.background(open())
	s.waitWindows(1)
	eventually.Complete(t, patience, func() string {
		if n := colours(s.picture("window-by-itself"), image.Rect(340, 130, 1280, 900)); n < 12 {
			return fmt.Sprintf("the page has %d colours", n)
		}
		return ""
	})
	run(t, s.command(binary, "status", "--data", data), 0)
	second := open()
	require.NoError(t, second.Start())
	late := time.AfterFunc(patience, func() { second.Process.Kill() })
	second.Wait()
	assert.True(t, late.Stop(), "a second window stays")
	s.waitWindows(1)
	run(t, s.command(binary, "quit", "--data", data), 0)
	s.waitWindows(0)
}
