package clientconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Before a client is disconnected, it is said which servers Drawbridge loses, who else uses them, and whether the file
// is as Drawbridge left it.
func TestUndoIsPreviewedWithTheServersThatAreRemoved(t *testing.T) {
	s := newSite(t)
	cursor, gemini := filepath.Join(s.home, ".cursor/mcp.json"), filepath.Join(s.home, ".gemini/settings.json")
	save(t, cursor, `{"mcpServers":{"memory":{"command":"memory"},"files":{"command":"files"}}}`)
	save(t, gemini, `{"mcpServers":{"memory":{"command":"memory"}}}`)
	preview := func() (p UndoPlan) {
		t.Helper()
		s.Get(t, "/api/v1/connections/cursor/undo", &p)
		return p
	}
	s.Do(t, "/api/v1/connections/cursor/connect", `{"move":true}`, 200)
	s.Do(t, "/api/v1/connections/gemini-cli/connect", `{"move":true}`, 200)
	moved, ours := load(t, cursor), load(t, s.ours)
	p := preview()
	assert.Equal(t, []RemovedServer{{"files", []string{}}, {"memory", []string{"Gemini CLI"}}}, p.Removed)
	assert.ElementsMatch(t, []string{"memory", "files"}, p.Restored)
	assert.Truef(t, p.File == "unchanged" && p.Problem == "" && p.Path == cursor, "%+v", p)

	save(t, cursor, strings.Replace(moved, "{", `{"mine": 1, `, 1))
	save(t, s.ours, strings.Replace(ours, `"command": "files"`, `"command": "files2"`, 1))
	p = preview()
	assert.Truef(t, p.File == "changed" && p.Problem == "", "%+v", p)
	require.Equal(t, []string{"files"}, p.Kept)
	assert.Len(t, p.Removed, 1)

	save(t, cursor, strings.Replace(moved, `"--server"`, `"--other"`, 1))
	assert.Contains(t, preview().Problem, "was changed manually")
}
