//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browse runs a script of the folder clients against the page of d and checks its result: all steps
// passed, and neither axe nor the browser reported an error. more is added to the input of the
// script; its other results are decoded into found, if not nil.
//
// For debugging, STEPS=REGEXP runs only the matching steps, and E2E_SLOW=4 slows down the page's
// processor by four and delays responses.
func browse(t testing.TB, d *daemon, script string, more object, found any) {
	t.Helper()
	// It draws no windows of its own, which saves processor time.
	browser, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		browser, err = exec.LookPath("chromium")
	}
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	slow := 1
	if n, err := strconv.Atoi(os.Getenv("E2E_SLOW")); err == nil {
		slow = n
	}
	// Only a busy machine needs that long.
	within := time.Duration(slow) * max(3*time.Minute, limit(2*time.Minute))
	order := object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "output": output,
		"config": filepath.Join(d.data, "config.jsonc"), "time": within.Milliseconds(),
	}
	maps.Copy(order, more)
	src, err := json.Marshal(order)
	require.NoError(t, err)
	only := os.Getenv("STEPS")
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, abs("clients/"+script))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + t.TempDir(), "CHROMIUM=" + browser, "STEPS=" + only, "E2E_SLOW=" + strconv.Itoa(slow)}
	cmd.Stdin = strings.NewReader(string(src))
	said := []byte(run(t, cmd, 0))
	var seen struct{ Errors []string }
	require.NoError(t, json.Unmarshal(said, &seen))
	for _, problem := range seen.Errors {
		t.Error(problem)
	}
	if found == nil {
		return
	}
	require.NoError(t, json.Unmarshal(said, found))
}

// control starts a server for actions that a script cannot do itself: /stop, /launch or /restart
// the daemon, a new /link to the page, and those in more. It returns its address.
func control(t testing.TB, d *daemon, env []string, more map[string]func(url.Values) string) string {
	t.Helper()
	does := map[string]func(url.Values) string{
		"/stop":    func(url.Values) string { d.stop(); return "" },
		"/launch":  func(url.Values) string { d.launch(env...); return "" },
		"/restart": func(url.Values) string { d.stop(); d.launch(env...); return "" },
		"/link":    func(url.Values) string { return strings.TrimSpace(d.cli(0, "open", "--print")) },
	}
	maps.Copy(does, more)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		do := does[r.URL.Path]
		if do == nil {
			t.Errorf("nobody does %s", r.URL.Path)
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, do(r.URL.Query()))
	}))
	t.Cleanup(server.Close)
	return server.URL
}
