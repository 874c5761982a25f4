//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// From an empty configuration to a client's first recorded call and its replay, without a mouse:
// its servers are imported, which connects it, and its call uses the entry that was written to its
// file. That takes at most six presses of a button, all of them on one page.
func TestFirstRunAndReplayByKeyboard(t *testing.T) {
	t.Parallel()
	d := start(t, object{"mcpServers": object{}})
	cursor := filepath.Join(d.home, ".cursor/mcp.json")
	file, err := json.MarshalIndent(object{"mcpServers": object{"weather": demo(), "other": object{"command": binary, "args": []string{"demo-server", "--http", "127.0.0.1:0"}}}}, "", "  ")
	require.NoError(t, err)
	put(t, cursor, string(file)+"\n")
	var found struct {
		FirstRunMs int64
		Stops      int
		Presses    int
	}
	browse(t, d, "page-keyboard.mjs", object{"cursor": cursor}, &found)
	assert.Truef(t, found.Stops >= 20, "only %d stops of the focus", found.Stops)
	t.Logf("the first recorded call after %d ms and %d presses; %d stops of the focus", found.FirstRunMs, found.Presses, found.Stops)
	assert.Truef(t, found.Presses >= 1 && found.Presses <= 6, "%d presses to the first recorded call, want at most 6", found.Presses)
	took := time.Duration(found.FirstRunMs) * time.Millisecond
	assert.Truef(t, took > 0 && took <= 2*time.Minute, "the first recorded call came after %s", took)
}
