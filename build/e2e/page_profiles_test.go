//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Profiles and unused tools by the page of the real daemon, with what a client sees then.
func TestProfilesAreMadeAndGivenByThePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	d := &daemon{t: t, data: filepath.Join(t.TempDir(), "data"), home: t.TempDir(), log: new(lockedBuffer)}
	if err := os.MkdirAll(d.data, 0o700); err != nil {
		t.Fatal(err)
	}
	entry, err := json.Marshal(demo())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(d.data, "config.jsonc")
	put(t, file, "{\n  // kept\n  \"mcpServers\": {\n    \"demo\": "+string(entry)+"\n  }\n}\n")
	d.launch()
	d.running("demo")
	order, err := json.Marshal(object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "token": d.token("life"), "chromium": browser,
		"output": output, "config": file, "patience": limit(20 * time.Second).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"HOME=" + t.TempDir()}, node, abs("clients/page-profiles.mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var found struct{ Done, Violations, Errors []string }
	if err := json.Unmarshal([]byte(run(t, cmd, 0)), &found); err != nil {
		t.Fatal(err)
	}
	if len(found.Done) < 4 {
		t.Errorf("only this was done: %q", found.Done)
	}
	for _, problem := range append(found.Violations, found.Errors...) {
		t.Error(problem)
	}
}
