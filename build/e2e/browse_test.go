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
)

// browse runs a script of the folder clients against the page of d and judges what all of
// them say: every step went well, and so many of them; neither axe nor the browser has
// anything against what was shown. more is added to the script's order; what else it found
// out is decoded into found, if that is not nil.
//
// By hand, STEPS=word runs those steps alone whose name the expression matches, and
// E2E_SLOW=4 gives the page a quarter of the processor and late answers.
func browse(t testing.TB, d *daemon, script string, steps int, more object, found any) {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	slow := 1
	if n, err := strconv.Atoi(os.Getenv("E2E_SLOW")); err == nil {
		slow = n
	}
	// Only a machine with much else to do needs so long.
	within := time.Duration(slow) * max(3*time.Minute, limit(time.Minute))
	order := object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "chromium": browser, "output": output,
		"config": filepath.Join(d.data, "config.jsonc"), "time": within.Milliseconds(),
		"patience": (time.Duration(slow) * limit(15*time.Second)).Milliseconds(),
	}
	maps.Copy(order, more)
	src, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("STEPS")
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, abs("clients/"+script))
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + t.TempDir(), "STEPS=" + only, "E2E_SLOW=" + strconv.Itoa(slow)}
	cmd.Stdin = strings.NewReader(string(src))
	said := []byte(run(t, cmd, 0))
	var seen struct{ Done, Violations, Errors []string }
	if err := json.Unmarshal(said, &seen); err != nil {
		t.Fatalf("%v in %s", err, tail(string(said)))
	}
	for _, problem := range append(seen.Violations, seen.Errors...) {
		t.Error(problem)
	}
	if len(seen.Done) < steps && only == "" {
		t.Errorf("only this was done: %q", seen.Done)
	}
	if found == nil {
		return
	}
	if err := json.Unmarshal(said, found); err != nil {
		t.Fatalf("%v in %s", err, tail(string(said)))
	}
}

// control is the address at which a script asks for what it cannot do: to /stop, /launch or
// /restart the daemon, for a new /link into the page, and for what more names.
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
