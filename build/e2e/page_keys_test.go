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

// From an empty configuration to a client's first recorded call, and that call again,
// without a mouse: servers imported, a client connected, its call made by the entry that
// was written into its file.
func TestFirstRunAndReplayByKeyboardAlone(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skipf("no browser: %v", err)
	}
	d := start(t, object{"mcpServers": object{}})
	cursor := filepath.Join(d.home, ".cursor/mcp.json")
	file, err := json.MarshalIndent(object{"mcpServers": object{"weather": demo(), "other": object{"command": binary, "args": []string{"demo-server", "--http", "127.0.0.1:0"}}}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	put(t, cursor, string(file)+"\n")
	order, err := json.Marshal(object{
		"link": strings.TrimSpace(d.cli(0, "open", "--print")), "url": d.url, "admin": d.admin, "chromium": browser, "output": output,
		"cursor": cursor, "patience": limit(10 * time.Second).Milliseconds(),
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, []string{"HOME=" + t.TempDir()}, node, abs("clients/page-keys.mjs"))
	cmd.Stdin = strings.NewReader(string(order))
	var found struct {
		Done, Violations, Errors []string
		FirstRunMs               int64
		Stops                    int
	}
	if err := json.Unmarshal([]byte(run(t, cmd, 0)), &found); err != nil {
		t.Fatal(err)
	}
	for _, problem := range append(found.Violations, found.Errors...) {
		t.Error(problem)
	}
	if len(found.Done) != 8 || found.Stops < 20 {
		t.Errorf("only this was done, in %d stops: %q", found.Stops, found.Done)
	}
	t.Logf("the first recorded call after %d ms; %d stops of the focus", found.FirstRunMs, found.Stops)
	if took := time.Duration(found.FirstRunMs) * time.Millisecond; took <= 0 || took > 2*time.Minute {
		t.Errorf("the first recorded call came after %s", took)
	}
}
