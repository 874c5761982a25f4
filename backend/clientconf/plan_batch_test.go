package clientconf

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// elevenClients are configuration files as eleven clients and their users write them, by
// path.
var elevenClients = map[string]string{
	".config/Claude/claude_desktop_config.json": "{\n  \"mcpServers\": {\n    \"postgres\": {\n      \"command\": \"docker\",\n      \"args\": [\"run\", \"-i\", \"--rm\", \"mcp/postgres\", \"postgresql://alice:s3cretPGpass@db:5432/app\"]\n    },\n    \"github\": {\"command\": \"npx\", \"args\": [\"-y\", \"gh\"], \"env\": {\"GITHUB_TOKEN\": \"ghp_0123456789abcdef0123\"}}\n  },\n  \"theme\": \"dark\", \"big\": 9007199254740993\n}\n",
	".claude.json":                      `{"numStartups":7,"mcpServers":{"github":{"type":"stdio","command":"npx","args":["-y","gh"],"env":{"GITHUB_TOKEN":"ghp_0123456789abcdef0123"}}},"projects":{"/home/ana/app":{"mcpServers":{"local":{"command":"node","args":["server.mjs"]}},"history":[1,2]}}}`,
	".cursor/mcp.json":                  "\ufeff{\r\n  \"mcpServers\": {\r\n    \"github\": {\"command\": \"npx\", \"args\": [\"-y\", \"another\"]},\r\n    \"docs\": {\"url\": \"https://docs.example/mcp\", \"headers\": {\"Authorization\": \"Bearer abcdefghij\"}}\r\n  }\r\n}",
	".config/Code/User/mcp.json":        "{\n\t// the team's\n\t\"servers\": {\n\t\t\"perplexity\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": [\"-y\", \"pp\"], \"env\": {\"KEY\": \"${input:perplexity-key}\"}},\n\t},\n\t\"inputs\": [{\"id\": \"perplexity-key\", \"type\": \"promptString\", \"password\": true}]\n}\n",
	".codeium/windsurf/mcp_config.json": "{\"mcpServers\": {\"figma\": {\"serverUrl\": \"https://figma.example/mcp\", \"disabled\": false}}}\n",
	".config/zed/settings.json":         "// Zed\n{\n  \"vim_mode\": true,\n  \"context_servers\": {\n    \"pg\": {\"command\": \"uvx\", \"args\": [\"pg\", \"postgresql://u:zedPGpass@h/d\"], \"timeout\": 60},\n  },\n}\n",
	".codex/config.toml":                "# mine\nmodel = \"x\"\n\n[mcp_servers.context7]   # docs\ncommand = \"npx\"\nargs = [\"-y\", \"@upstash/context7-mcp\"]\nenv = { CONTEXT7_API_KEY = \"ctx7sk-0123456789\" }\n\n[tools]\nweb = true\n",
	".gemini/settings.json":             "{\n  \"mcpServers\": {\"sql\": {\"command\": \"sql-mcp\", \"timeout\": 30000, \"trust\": true}},\n  \"ui\": {\"x\": 1.50}\n}",
	".config/opencode/opencode.jsonc":   "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"time\": {\"type\": \"local\", \"command\": [\"uvx\", \"mcp-server-time\"], \"enabled\": false}, // later\n  },\n}\n",
	".config/goose/config.yaml":         "GOOSE_MODEL: x\nextensions:\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\n  fetch:\n    enabled: true\n    type: stdio\n    cmd: uvx\n    args:\n      - mcp-server-fetch\n    envs:\n      HF_TOKEN: hf_0123456789abcdef\n",
	".lmstudio/mcp.json":                `{"mcpServers":{"hf":{"url":"https://hf.co/mcp","headers":{"Authorization":"Bearer hf_abcdef0123456789"}}}}`,
}

// writeElevenClients writes the files of elevenClients and returns a function that fails unless
// the files still have these contents.
func writeElevenClients(t *testing.T, home string) (compare func(when string)) {
	t.Helper()
	for path, text := range elevenClients {
		write(t, filepath.Join(home, path), text)
	}
	return func(when string) {
		t.Helper()
		for path, text := range elevenClients {
			if got := content(t, filepath.Join(home, path)); got != text {
				t.Errorf("%s, %s is\n%s\nwant\n%s", when, path, got, text)
			}
		}
	}
}

// TestElevenClientsAreMovedAndUndoneTogether moves all clients with one plan and undoes it.
func TestElevenClientsAreMovedAndUndoneTogether(t *testing.T) {
	c, vault, home, config := newImporter(t)
	const ours = "{\n  // mine\n  \"mcpServers\": {\"mine\": {\"command\": \"mine\"}}\n}\n"
	write(t, config, ours)
	compare := writeElevenClients(t, home)
	plan := c.PlanMoveAll()
	if plan.ClientCount() != 11 || plan.ServerCount() != 14 || len(plan.Skipped) != 0 {
		t.Fatalf("%d servers of %d clients, left out %v", plan.ServerCount(), plan.ClientCount(), plan.Skipped)
	}
	compare("while planning")
	for n, p := range plan.Plans[1:] { // each plan starts from the result of the preceding one
		if before := plan.Plans[n]; !bytes.Equal(p.config.before, before.config.after) {
			t.Errorf("%s does not begin where %s ends", p.Client.ID, before.Client.ID)
		}
	}
	var tokens []string
	must(t, plan.Apply(t.Context(), func(client string) error { tokens = append(tokens, client); return nil }, func(ClientResult) {}))
	if len(tokens) != 11 {
		t.Errorf("tokens for %v", tokens)
	}
	now := content(t, config)
	if now != string(plan.Plans[10].config.after) || !strings.Contains(now, `"github-cursor"`) || strings.Count(now, `"gh"`) != 1 {
		t.Errorf("our configuration is\n%s", now)
	}
	for path := range elevenClients {
		if text := content(t, filepath.Join(home, path)); !strings.Contains(text, "/opt/drawbridge/drawbridge") {
			t.Errorf("%s is not moved:\n%s", path, text)
		}
	}
	for _, secret := range []string{"ghp_", "s3cretPG", "zedPG", "abcdefghij", "ctx7sk", "hf_"} {
		if strings.Contains(now, secret) {
			t.Errorf("our configuration holds %s", secret)
		}
	}
	var undone []UndoResult
	must(t, c.UndoAll(t.Context(), true, false, func(u UndoResult) { undone = append(undone, u) }))
	compare("after undo")
	if got := content(t, config); got != ours {
		t.Errorf("our configuration is\n%s", got)
	}
	if len(undone) != 11 || len(vault.values) != 0 {
		t.Errorf("undone %v, secrets left %v", undone, vault.values)
	}
}

func TestElevenClientsAreImportedAndUndoneTogether(t *testing.T) {
	c, vault, home, config := newImporter(t)
	compare := writeElevenClients(t, home)
	plan := c.PlanImportAll()
	if plan.ClientCount() < 9 || len(plan.Skipped) != 0 {
		t.Fatalf("%d servers of %d clients, left out %v", plan.ServerCount(), plan.ClientCount(), plan.Skipped)
	}
	must(t, plan.Apply(t.Context(), nil, func(ClientResult) {}))
	compare("after the import")
	if again := c.PlanImportAll(); again.ClientCount() != 0 {
		t.Errorf("there is something left: %d clients", again.ClientCount())
	}
	must(t, c.UndoAll(t.Context(), true, false, func(UndoResult) {}))
	if _, err := os.Stat(config); err == nil || len(vault.values) != 0 {
		t.Errorf("after undo: %v, secrets %v\n%s", err, vault.values, content(t, config))
	}
}

func TestConnectAllSkipsBrokenFile(t *testing.T) {
	c, _, home, _ := newImporter(t)
	compare := writeElevenClients(t, home)
	write(t, filepath.Join(home, ".lmstudio/mcp.json"), `{"mcpServers":`)
	plan := c.PlanConnectAll()
	if plan.ClientCount() != 10 || len(plan.Skipped) != 1 || !strings.Contains(plan.Skipped[0].Client, "LM Studio") {
		t.Fatalf("%d clients, left out %+v", plan.ClientCount(), plan.Skipped)
	}
	must(t, plan.Apply(t.Context(), func(string) error { return nil }, func(ClientResult) {}))
	must(t, c.UndoAll(t.Context(), true, false, func(UndoResult) {}))
	write(t, filepath.Join(home, ".lmstudio/mcp.json"), elevenClients[".lmstudio/mcp.json"])
	compare("after undo")
}

// TestUnwritableClientDoesNotStopOthers changes the first of eleven files after planning, so
// that all following plans start from another state than they were made for.
func TestUnwritableClientDoesNotStopOthers(t *testing.T) {
	c, vault, home, config := newImporter(t)
	compare := writeElevenClients(t, home)
	plan := c.PlanMoveAll()
	first := plan.Plans[0]
	changed := string(first.before) + " "
	write(t, first.Path, changed)
	var done []ClientResult
	err := plan.Apply(t.Context(), func(string) error { return nil }, func(d ClientResult) { done = append(done, d) })
	if err == nil || !strings.Contains(err.Error(), first.Client.Name) || strings.Contains(err.Error(), plan.Plans[1].Client.Name) {
		t.Errorf("the error is %v", err)
	}
	if len(done) != 11 || done[0].Err == nil || done[0].Servers != 0 {
		t.Fatalf("done: %+v", done)
	}
	for n, d := range done[1:] {
		if d.Err != nil || d.Servers != plan.Plans[n+1].MovedCount() {
			t.Errorf("%s: %d servers, %v", d.Client.Name, d.Servers, d.Err)
		}
	}
	if got := content(t, first.Path); got != changed {
		t.Errorf("the file that changed is\n%s", got)
	}
	if now := content(t, config); strings.Contains(now, "mcp/postgres") || !strings.Contains(now, "context7") {
		t.Errorf("our configuration is\n%s", now)
	}
	var keys []string
	for _, p := range plan.Plans {
		keys = append(keys, p.Key())
	}
	undone := 0
	if err := c.UndoKeys(t.Context(), keys, func(UndoResult) { undone++ }); err != nil || undone != 10 {
		t.Errorf("undone %d, %v", undone, err)
	}
	write(t, first.Path, string(first.before))
	compare("after undo")
	if _, err := os.Stat(config); err == nil || len(vault.values) != 0 {
		t.Errorf("after undo: %v, secrets %v", err, vault.values)
	}
}
