package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

// TestAllClientsAreMovedAndRestoredThroughAPI sends the three requests of the page: plan, apply
// and restore. Failures are reported per client.
func TestAllClientsAreMovedAndRestoredThroughAPI(t *testing.T) {
	s, home, ours := newConnectableSite(t)
	files := map[string]string{
		filepath.Join(home, ".cursor/mcp.json"):      `{"mcpServers":{"github":{"command":"npx","args":["gh"],"env":{"GITHUB_TOKEN":"ghp_0123456789abcdef0123"}}}}`,
		filepath.Join(home, ".gemini/settings.json"): "{\n  \"mcpServers\": {\"sql\": {\"command\": \"sql-mcp\", \"timeout\": 30000}}\n}",
		filepath.Join(home, ".codex/config.toml"):    "# mine\n[mcp_servers.docs]\ncommand = \"docs\"\n",
	}
	for path, text := range files {
		save(t, path, text)
	}
	save(t, filepath.Join(home, ".lmstudio/mcp.json"), `{"mcpServers":`)
	var plan TakeoverPlan
	s.get(t, "/api/v1/takeover", &plan)
	if plan.Servers != 3 || len(plan.Clients) != 3 || len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0].Client, "LM Studio") {
		t.Fatalf("the plan is %+v", plan)
	}
	shown, _ := json.Marshal(plan)
	if strings.Contains(string(shown), "ghp_") {
		t.Errorf("a secret is shown: %s", shown)
	}
	s.do(t, "/api/v1/takeover", `{"plan":"another"}`, 409)
	if _, err := os.Stat(ours); err == nil {
		t.Error("something was written for a plan that nobody saw")
	}
	take := func() (results web.List[TakeoverResult]) {
		t.Helper()
		must(t, json.Unmarshal([]byte(s.do(t, "/api/v1/takeover", `{"plan":"`+plan.Plan+`"}`, 200)), &results))
		if len(results.Items) != 3 {
			t.Fatalf("the results are %+v", results)
		}
		return results
	}
	// If no token can be created, each client fails with its own error.
	working := s.api.Tokens
	folder := t.TempDir()
	broken, err := loopback.NewTokens(folder, nil)
	must(t, err)
	save(t, filepath.Join(folder, "tokens.json"), "{")
	s.api.Tokens = broken
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
	s.api.Tokens = working
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
	must(t, json.Unmarshal([]byte(s.do(t, "/api/v1/takeover/undo", string(body), 200)), &undone))
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
	if _, err := os.Stat(ours); err == nil {
		t.Errorf("our configuration is %s", load(t, ours))
	}
}

func TestFeaturesAreListedByClientAndServer(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", Era: core.Legacy}, {ID: "late"}}
	s.views.Set("files", "", &core.Catalog{Capabilities: json.RawMessage(`{"tools":{},"resources":{"subscribe":true}}`)})
	s.bothEras = "files"
	s.peers = []bridge.ClientInfo{
		{Client: core.Client{Token: "cursor", Name: "Cursor", Version: "1"}, Protocol: core.LegacyVersion, LastSeen: time.Unix(9, 0),
			Peer: bridge.Peer{Era: core.Legacy, Capabilities: json.RawMessage(`{"roots":{}}`)}},
		{Client: core.Client{Token: "claude", Name: "Claude"}, Protocol: core.ModernVersion, LastSeen: time.Unix(8, 0),
			Peer: bridge.Peer{Era: core.Modern, Capabilities: json.RawMessage(`{}`)}},
	}
	tell := func(query string) string {
		var list web.List[ClientFeatures]
		s.get(t, "/api/v1/features"+query, &list)
		var out []string
		for _, c := range list.Items {
			for _, server := range c.Servers {
				line := fmt.Sprintf("%s/%s %s/%s %v", c.Token, server.Server, c.Era, server.Era, server.Known)
				for _, f := range server.Features {
					switch f.Name {
					case "tools", "prompts", "subscriptions", "elicitation", "roots":
						line += " " + f.Name + ":" + f.How
					}
				}
				out = append(out, line)
			}
		}
		return strings.Join(out, "\n")
	}
	cursor := "cursor/files legacy/legacy true tools:passes prompts:not server subscriptions:passes elicitation:with approval roots:passes"
	claude := "claude/files modern/modern true tools:passes prompts:not server subscriptions:passes elicitation:with approval roots:not client"
	for query, want := range map[string]string{
		"":                            cursor + "\ncursor/late legacy/ false\n" + claude + "\nclaude/late modern/ false",
		"?client=Cursor":              cursor + "\ncursor/late legacy/ false",
		"?server=files&client=claude": claude,
		"?client=nobody":              "",
	} {
		if got := tell(query); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", query, got, want)
		}
	}
	s.want(t, "GET", "/api/v1/features?server=nobody", "", 404)
}
