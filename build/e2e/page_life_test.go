//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every page and every action, against the real daemon; also while the configuration is
// read again, a server crashes, the daemon restarts and the browser's session ends.
func TestEveryPageLivesThroughWhatHappens(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/restart":
			d.stop()
			d.launch()
		case "/link":
			io.WriteString(w, strings.TrimSpace(d.cli(0, "open", "--print")))
		}
	}))
	defer control.Close()
	order, err := json.Marshal(object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "token": d.token("life"), "chromium": browser, "output": output,
		"config": filepath.Join(d.data, "config.jsonc"), "control": control.URL, "binary": binary,
		"patience": limit(10 * time.Second).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"HOME=" + t.TempDir()}, node, abs("clients/page-life.mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var found struct {
		Done, Pages        []string
		Violations, Errors []string
		UsefulMs           int64
	}
	if err := json.Unmarshal([]byte(run(t, cmd, 0)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Pages) < 19 || len(found.Done) < len(found.Pages)+13 {
		t.Errorf("only this was done: %q", found.Done)
	}
	for _, problem := range append(found.Violations, found.Errors...) {
		t.Error(problem)
	}
	t.Logf("something useful is seen after %d ms", found.UsefulMs)
	if took := time.Duration(found.UsefulMs) * time.Millisecond; took > limit(time.Second) {
		t.Errorf("something useful is seen only after %s", took)
	}
}
