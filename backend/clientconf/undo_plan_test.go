package clientconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"

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
	require.NoError(t, os.Remove(cursor))
	assert.Contains(t, preview().Problem, "does not exist any more")
	s.Do(t, "/api/v1/connections/cursor/undo", ``, 409)
}

// Undoing a connection revokes the token that it created, but none that the user was shown or that something uses.
func TestUndoRevokesTheTokenThatConnectingCreated(t *testing.T) {
	s := newSite(t)
	has := func(client string) bool {
		t.Helper()
		_, ok, err := s.feature.Tokens.Get(client)
		require.NoError(t, err)
		return ok
	}
	for client, path := range map[string]string{"cursor": ".cursor/mcp.json", "gemini-cli": ".gemini/settings.json"} {
		save(t, filepath.Join(s.home, path), `{"mcpServers":{"`+client+`":{"command":"a"}}}`)
	}
	var plan TakeoverPlan
	s.Get(t, "/api/v1/takeover", &plan)
	s.Do(t, "/api/v1/takeover", `{"plan":"`+plan.Plan+`"}`, 200)
	require.True(t, has("cursor") && has("gemini-cli"))
	s.Do(t, "/api/v1/takeover/undo", `{"keys":["cursor"]}`, 200)
	assert.True(t, !has("cursor") && has("gemini-cli"), "after the undo of one")
	s.sessions = []bridge.Session{{Client: core.Client{Token: "gemini-cli"}}}
	s.Do(t, "/api/v1/connections/gemini-cli/undo", ``, 200)
	assert.True(t, has("gemini-cli"), "with an open session")

	s.Do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	_, err := s.feature.Tokens.Show("cursor")
	require.NoError(t, err)
	s.Do(t, "/api/v1/connections/cursor/undo", ``, 200)
	assert.True(t, has("cursor"), "after it was shown")
}
