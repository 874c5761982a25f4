package clientconf

import (
	"fmt"
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
	assert.Equal(t, []RemovedServer{{"files", []string{}, []string{}}}, p.Removed)
	assert.Equal(t, []SharedServer{{"memory", []string{"Gemini CLI"}}}, p.Shared)
	assert.ElementsMatch(t, []string{"memory", "files"}, p.Restored)
	assert.Truef(t, p.File == "unchanged" && p.Problem == "" && p.Path == cursor, "%+v", p)

	s.Do(t, "/api/v1/connections/windsurf/connect", `{}`, 200)
	save(t, s.ours, strings.Replace(load(t, s.ours), "{", `{"profiles": {"lean": {"servers": {"files": {}}}}, `, 1))
	assert.Equal(t, []RemovedServer{{"files", []string{"Windsurf (Cascade, before the rename)"}, []string{"lean"}}}, preview().Removed, "it has an entry for all servers")
	save(t, s.ours, ours)

	save(t, cursor, strings.Replace(moved, "{", `{"mine": 1, `, 1))
	save(t, s.ours, strings.Replace(ours, `"command": "files"`, `"command": "files2"`, 1))
	p = preview()
	assert.Truef(t, p.File == "changed" && p.Problem == "", "%+v", p)
	require.Equal(t, []string{"files"}, p.Kept)
	assert.Empty(t, p.Removed)
	assert.Len(t, p.Shared, 1)

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

// A server that two clients brought in stays until the last of them is disconnected, whichever comes first,
// with its secret. All files return to their content.
func TestServerOfTwoMovedClientsStaysUntilTheLastIsDisconnected(t *testing.T) {
	const memory = `"memory":{"command":"memory","env":{"API_TOKEN":"sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa"}}`
	for _, order := range [][]string{{"cursor", "gemini-cli"}, {"gemini-cli", "cursor"}} {
		for n, also := range [][2]string{{`, "files":{"command":"files"}`, `, "web":{"command":"web"}`}, {"", `, "web":{"command":"web"}`}, {}, {`, "files":{"command":"files"}`, ""}} {
			body, first, second := fmt.Sprintf(`{"move":true,"singleEntry":%t}`, n == 1), also[0], also[1]
			t.Run(fmt.Sprint(order[0], n), func(t *testing.T) {
				s := newSite(t)
				files := map[string]string{"cursor": filepath.Join(s.home, ".cursor/mcp.json"), "gemini-cli": filepath.Join(s.home, ".gemini/settings.json")}
				originals := map[string]string{"cursor": `{"mcpServers":{` + memory + first + `}}`, "gemini-cli": `{"mcpServers":{` + memory + second + `}}`}
				save(t, s.ours, "{\"mcpServers\": {\"mine\": {\"command\": \"x\"}}}\n")
				before := load(t, s.ours)
				for _, client := range []string{"cursor", "gemini-cli"} {
					save(t, files[client], originals[client])
					s.Do(t, "/api/v1/connections/"+client+"/connect", body, 200)
				}
				var p UndoPlan
				s.Get(t, "/api/v1/connections/"+order[0]+"/undo", &p)
				require.Len(t, p.Shared, 1)
				assert.Equal(t, "memory", p.Shared[0].Name)
				s.Do(t, "/api/v1/connections/"+order[0]+"/undo", ``, 200)
				assert.Equal(t, originals[order[0]], load(t, files[order[0]]))
				assert.Contains(t, load(t, s.ours), `"memory"`)
				names, err := s.vault.List(t.Context())
				assert.Len(t, names, 1, err)

				p = UndoPlan{}
				s.Get(t, "/api/v1/connections/"+order[1]+"/undo", &p)
				assert.Truef(t, len(p.Removed) > 0 && len(p.Shared) == 0, "%+v", p)
				s.Do(t, "/api/v1/connections/"+order[1]+"/undo", ``, 200)
				assert.Equal(t, originals[order[1]], load(t, files[order[1]]))
				assert.Equal(t, before, load(t, s.ours))
				names, err = s.vault.List(t.Context())
				assert.Empty(t, names, err)
			})
		}
	}
}

// The same goes for the undo of one server of a move, and of an import.
func TestServerOfTwoMovesSurvivesTheUndoOfOneServerAndOfAnImport(t *testing.T) {
	s := newSite(t)
	c := s.feature.Connector
	cursor, gemini, zed := filepath.Join(s.home, ".cursor/mcp.json"), filepath.Join(s.home, ".gemini/settings.json"), filepath.Join(s.home, ".config/zed/settings.json")
	save(t, cursor, `{"mcpServers":{"memory":{"command":"memory"},"again":{"command":"memory"},"files":{"command":"files"}}}`)
	save(t, gemini, `{"mcpServers":{"memory":{"command":"memory"}}}`)
	save(t, zed, `{"context_servers":{"web":{"command":"web"}}}`)
	i, err := c.PlanImport(Choice{Client: "zed"}, nil)
	require.NoError(t, err)
	imported, err := i.Apply(t.Context())
	require.NoError(t, err)
	s.Do(t, "/api/v1/connections/zed/connect", `{"move":true}`, 200)
	_, err = c.UndoImport(t.Context(), imported)
	require.NoError(t, err)
	assert.Contains(t, load(t, s.ours), `"web"`, "after the import was undone")
	_, err = c.Undo(t.Context(), "zed", UndoOptions{})
	require.NoError(t, err)
	assert.NotContains(t, load(t, s.ours), `"web"`)

	s.Do(t, "/api/v1/connections/cursor/connect", `{"move":true}`, 200)
	s.Do(t, "/api/v1/connections/cursor/undo", `{"servers":["memory"]}`, 200)
	assert.Contains(t, load(t, s.ours), `"again"`, "another entry of the client has it")
	s.Do(t, "/api/v1/connections/gemini-cli/connect", `{"move":true}`, 200)
	s.Do(t, "/api/v1/connections/cursor/undo", `{"servers":["again"]}`, 200)
	assert.Contains(t, load(t, s.ours), `"again"`, "Gemini CLI has it")
	s.Do(t, "/api/v1/connections/gemini-cli/undo", ``, 200)
	assert.NotContains(t, load(t, s.ours), `"again"`)
}

// What others use need not go with the client that brought it in.
func TestDisconnectingCanKeepTheServers(t *testing.T) {
	s := newSite(t)
	cursor := filepath.Join(s.home, ".cursor/mcp.json")
	const before = `{"mcpServers":{"files":{"command":"files","env":{"API_TOKEN":"sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa"}}}}`
	save(t, cursor, before)
	s.Do(t, "/api/v1/connections/cursor/connect", `{"move":true}`, 200)
	ours := load(t, s.ours)
	stored, err := s.vault.List(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, stored)
	s.Do(t, "/api/v1/connections/cursor/undo", `{"keep":true,"servers":["files"]}`, 400)
	s.Do(t, "/api/v1/connections/cursor/undo", `{"keep":true}`, 200)
	assert.Equal(t, before, load(t, cursor))
	assert.Equal(t, ours, load(t, s.ours))
	still, err := s.vault.List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, stored, still, "its server needs the secret")
	assert.False(t, s.connection(t, "cursor").Connected)
}
