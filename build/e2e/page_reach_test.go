//go:build e2e

package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Profiles and hiding what nobody uses, by the page of the real
// daemon; what a client then sees is asked of the bridge.
func TestProfilesAreMadeAndUsedByThePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	d := start(t, object{"mcpServers": object{"demo": demo(), "files": npmServer(t, "server-filesystem", t.TempDir())}})
	d.running("demo", "files")
	order, err := json.Marshal(object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "token": d.token("life"), "chromium": browser, "output": output,
		"config": filepath.Join(d.data, "config.jsonc"), "patience": limit(10 * time.Second).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"HOME=" + t.TempDir()}, node, abs("clients/page-reach.mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var found struct{ Done, Violations, Errors []string }
	if err := json.Unmarshal([]byte(run(t, cmd, 0)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Done) < 5 {
		t.Errorf("only this was done: %q", found.Done)
	}
	for _, problem := range append(found.Violations, found.Errors...) {
		t.Error(problem)
	}
}
