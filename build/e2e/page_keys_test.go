//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

// From an empty configuration to a client's first recorded call and its replay, without a mouse:
// servers are imported, a client is connected, and its call uses the entry that was written to its
// file.
func TestFirstRunAndReplayByKeyboard(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{}})
	cursor := filepath.Join(d.home, ".cursor/mcp.json")
	file, err := json.MarshalIndent(object{"mcpServers": object{"weather": demo(), "other": object{"command": binary, "args": []string{"demo-server", "--http", "127.0.0.1:0"}}}}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	put(t, cursor, string(file)+"\n")
	var found struct {
		FirstRunMs int64
		Stops      int
	}
	browse(t, d, "page-keys.mjs", 8, object{"cursor": cursor}, &found)
	if found.Stops < 20 {
		t.Errorf("only %d stops of the focus", found.Stops)
	}
	t.Logf("the first recorded call after %d ms; %d stops of the focus", found.FirstRunMs, found.Stops)
	if took := time.Duration(found.FirstRunMs) * time.Millisecond; took <= 0 || took > 2*time.Minute {
		t.Errorf("the first recorded call came after %s", took)
	}
}
