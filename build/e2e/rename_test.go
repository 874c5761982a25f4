//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The test renames a server on the command line: file, profile, calls, a check and search use its
// new name.
func TestHistoryFollowsServerRename(t *testing.T) {
	t.Parallel()
	d := start(t, object{
		"mcpServers": object{"demo": object{"command": binary, "args": []string{"demo-server"}}},
		"profiles":   object{"work": object{"servers": object{"demo": object{}}}},
	})
	d.running("demo")
	d.cli(0, "call", "demo", "echo", `{"text":"before it was renamed"}`)
	check, err := json.Marshal(object{"steps": []object{{"server": "demo", "tool": "echo", "arguments": `{"text":"x"}`, "expect": object{}}}})
	if err != nil {
		t.Fatal(err)
	}
	if code, text := d.do("PUT", "/api/v1/checks/c", strings.NewReader(string(check))); code != 200 {
		t.Fatal(code, text)
	}
	if said := d.cli(0, "rename", "demo", "Second Name"); !strings.Contains(said, "Second-Name") && !strings.Contains(said, "Second Name") {
		t.Errorf("it said %q", said)
	}
	text, err := os.ReadFile(filepath.Join(d.data, "config.jsonc"))
	if err != nil || !strings.Contains(string(text), `"Second Name"`) || !strings.Contains(string(text), `"Second-Name"`) || strings.Contains(string(text), `"demo"`) {
		t.Errorf("the file is %s, %v", text, err)
	}
	d.running("Second-Name")
	eventually(t, limit(10*time.Second), func() string {
		if said := d.cli(0, "history", "--server", "Second-Name"); !strings.Contains(said, "echo") {
			return "its calls are " + said
		}
		return ""
	})
	if said := d.cli(0, "history", "--server", "demo"); strings.Contains(said, "echo") {
		t.Errorf("the old name still has calls: %s", said)
	}
	if said := d.cli(0, "history", "--server", "Second-Name", "--search", "before renamed"); !strings.Contains(said, "echo") {
		t.Errorf("search finds %q", said)
	}
	if said := d.cli(0, "check", "run", "c"); !strings.Contains(said, "Second Name") {
		t.Errorf("the check ran as %s", said)
	}
	d.cli(0, "call", "Second-Name", "echo", `{"text":"after"}`)
	d.cli(1, "rename", "demo", "third")
}
