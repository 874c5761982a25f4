package clientconf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
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
	if strings.Contains(string(shown), "ghp_") {
		t.Errorf("a secret is shown: %s", shown)
	}
	s.Do(t, "/api/v1/takeover", `{"plan":"another"}`, 409)
	if _, err := os.Stat(s.ours); err == nil {
		t.Error("something was written for a plan that nobody saw")
	}
	take := func() (results web.List[TakeoverResult]) {
		t.Helper()
		must(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/takeover", `{"plan":"`+plan.Plan+`"}`, 200)), &results))
		if len(results.Items) != 3 {
			t.Fatalf("the results are %+v", results)
		}
		return results
	}
	// If no token can be created, each client fails with its own error.
	working := s.feature.Tokens
	folder := t.TempDir()
	broken, err := loopback.NewTokens(folder, nil)
	must(t, err)
	save(t, filepath.Join(folder, "tokens.json"), "{")
	s.feature.Tokens = broken
	for _, one := range take().Items {
		if one.Servers != 0 || !strings.Contains(one.Error, "cannot read tokens") {
			t.Errorf("without tokens: %+v", one)
		}
	}
	for path, text := range files {
		if got := load(t, path); got != text {
			t.Errorf("without tokens, %s is %s", path, got)
		}
	}
	s.feature.Tokens = working
	var keys []string
	for _, one := range take().Items {
		keys = append(keys, one.Key)
		if one.Error != "" || one.Servers != 1 || one.Name == "" {
			t.Errorf("%+v", one)
		}
	}
	if state := s.connection(t, keys[1]).State; state != "connected" {
		t.Errorf("%s is %s", keys[1], state)
	}
	body, _ := json.Marshal(map[string]any{"keys": keys})
	var undone web.List[TakeoverUndone]
	must(t, json.Unmarshal([]byte(s.Do(t, "/api/v1/takeover/undo", string(body), 200)), &undone))
	if len(undone.Items) != 3 {
		t.Errorf("undone: %+v", undone)
	}
	for _, one := range undone.Items {
		if one.Result != "restored" || one.Error != "" {
			t.Errorf("undone: %+v", one)
		}
	}
	for path, text := range files {
		if got := load(t, path); got != text {
			t.Errorf("%s is %s", path, got)
		}
	}
	if _, err := os.Stat(s.ours); err == nil {
		t.Errorf("our configuration is %s", load(t, s.ours))
	}
}
