package clientconf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAllClientsAreMovedAndRestoredThroughAPI sends the three requests of the page: plan, apply
// and restore. Failures are reported per client.
func TestAllClientsAreMovedAndRestoredThroughAPI(t *testing.T) {
	s := newSite(t)
	files := map[string]string{
		filepath.Join(s.home, ".cursor/mcp.json"):      `{"mcpServers":{"github":{"command":"npx","args":["gh"],"env":{"GITHUB_TOKEN":"ghp_0123456789abcdef0123"}}}}`,
		filepath.Join(s.home, ".gemini/settings.json"): "{\n  \"mcpServers\": {\"sql\": {\"command\": \"sql-mcp\", \"timeout\": 30000}}\n}",
		filepath.Join(s.home, ".codex/config.toml"):    "# mine\n[mcp_servers.docs]\ncommand = \"docs\"\n",
	}
	for path, text := range files {
		save(t, path, text)
	}
	save(t, filepath.Join(s.home, ".lmstudio/mcp.json"), `{"mcpServers":`)
	var plan TakeoverPlan
	s.Get(t, "/api/v1/takeover", &plan)
	if plan.Servers != 3 || len(plan.Clients) != 3 || len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0].Client, "LM Studio") {
		t.Fatalf("the plan is %+v", plan)
	}
	shown, _ := json.Marshal(plan)
	assert.NotContains(t, string(shown), "ghp_", "a secret is shown")
	s.Do(t, "/api/v1/takeover", `{"plan":"another"}`, 409)
	if _, err := os.Stat(s.ours); err == nil {
		t.Error("something was written for a plan that nobody saw")
	}
	take := func() (results web.List[TakeoverResult]) {
		t.Helper()
		require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/takeover", `{"plan":"`+plan.Plan+`"}`, 200)), &results))
		require.Len(t, results.Items, 3, "the results")
		return results
	}
	// If no token can be created, each client fails with its own error.
	working := s.feature.Tokens
	folder := t.TempDir()
	broken, err := loopback.NewTokens(folder, nil)
	require.NoError(t, err)
	save(t, filepath.Join(folder, "tokens.json"), "{")
	s.feature.Tokens = broken
	for _, one := range take().Items {
		assert.Equal(t, 0, one.Servers, "without tokens")
		assert.Contains(t, one.Error, "cannot read tokens", "without tokens")
	}
	for path, text := range files {
		assert.Equalf(t, text, load(t, path), "without tokens, %s", path)
	}
	s.feature.Tokens = working
	var keys []string
	for _, one := range take().Items {
		keys = append(keys, one.Key)
		assert.Truef(t, one.Error == "" && one.Servers == 1 && one.Name != "", "%+v", one)
	}
	assert.Equal(t, "connected", s.connection(t, keys[1]).State)
	body, _ := json.Marshal(map[string]any{"keys": keys})
	var undone web.List[TakeoverUndone]
	require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/takeover/undo", string(body), 200)), &undone))
	assert.Len(t, undone.Items, 3)
	for _, one := range undone.Items {
		assert.Equal(t, "restored", one.Result)
		assert.Empty(t, one.Error)
	}
	for path, text := range files {
		assert.Equal(t, text, load(t, path), path)
	}
	_, err = os.Stat(s.ours)
	assert.Error(t, err, "our configuration")
	// A client that was connected since, without a move, stays connected.
	s.Do(t, "/api/v1/connections/"+keys[0]+"/connect", `{}`, 200)
	require.NoError(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/takeover/undo", string(body), 200)), &undone))
	assert.Len(t, undone.Items, 3)
	now := s.connection(t, keys[0])
	assert.True(t, now.Connected, keys[0])
	assert.Len(t, now.Own, 1, "the server that it runs itself again")
}

// The preview says which servers become one and which are renamed. The servers of clients come first in the changes, and
// good news is not a warning.
func TestPlanNamesServersThatBecomeOneOrAreRenamed(t *testing.T) {
	s := newSite(t)
	save(t, filepath.Join(s.home, ".cursor/mcp.json"), `{"mcpServers":{"memory":{"command":"npx","args":["memory"]},"files":{"command":"files","args":["/a"]}}}`)
	save(t, filepath.Join(s.home, ".gemini/settings.json"), `{"mcpServers":{"memory":{"command":"npx","args":["memory"]},"files":{"command":"files","args":["/b"]}}}`)
	var plan TakeoverPlan
	s.Get(t, "/api/v1/takeover", &plan)
	require.Len(t, plan.Clients, 2)
	assert.Equal(t, []int{4, 3}, []int{plan.Servers, plan.Added})
	first, second := plan.Clients[0], plan.Clients[1]
	assert.Contains(t, strings.Join(second.Notes, "\n"), `"memory" is the same server as "memory" of `+first.Name+": they become one.")
	assert.Contains(t, strings.Join(second.Notes, "\n"), `"files" will be named "files-`+second.Key+`" in Drawbridge.`)
	assert.Contains(t, strings.Join(first.Notes, "\n"), "1 server with npx")
	assert.Empty(t, append(first.Warnings, second.Warnings...))
	assert.Less(t, strings.Index(first.Diff, "+++ "+first.Path), strings.Index(first.Diff, "+++ "+s.ours))
	s.Do(t, "/api/v1/takeover", `{"plan":"`+plan.Plan+`"}`, 200)
	var again TakeoverPlan
	save(t, filepath.Join(s.home, ".lmstudio/mcp.json"), `{"mcpServers":{"memory":{"command":"npx","args":["memory"]}}}`)
	s.Get(t, "/api/v1/takeover", &again)
	require.Len(t, again.Clients, 1)
	assert.Contains(t, again.Clients[0].Notes, `"memory" is the same server as "memory" of Drawbridge: they become one.`)
}
