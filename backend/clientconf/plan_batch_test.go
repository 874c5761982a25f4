package clientconf

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
			assert.Equalf(t, text, content(t, filepath.Join(home, path)), "%s, %s", when, path)
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
		assert.Equal(t, plan.Plans[n].config.after, p.config.before)
	}
	var tokens []string
	require.NoError(t, plan.Apply(t.Context(), func(client string) error { tokens = append(tokens, client); return nil }, func(ClientResult) {}))
	assert.Len(t, tokens, 11)
	now := content(t, config)
	if now != string(plan.Plans[10].config.after) || !strings.Contains(now, `"github-cursor"`) || strings.Count(now, `"gh"`) != 1 {
		t.Errorf("our configuration is\n%s", now)
	}
	for path := range elevenClients {
		assert.Contains(t, content(t, filepath.Join(home, path)), "/opt/drawbridge/drawbridge", path)
	}
	for _, secret := range []string{"ghp_", "s3cretPG", "zedPG", "abcdefghij", "ctx7sk", "hf_"} {
		assert.NotContains(t, now, secret, "our configuration holds")
	}
	var undone []UndoResult
	require.NoError(t, c.UndoAll(t.Context(), true, false, func(u UndoResult) { undone = append(undone, u) }))
	compare("after undo")
	assert.Equal(t, ours, content(t, config), "our configuration")
	require.Len(t, undone, 11)
	require.Empty(t, vault.values)
}

func TestElevenClientsAreImportedAndUndoneTogether(t *testing.T) {
	c, vault, home, config := newImporter(t)
	compare := writeElevenClients(t, home)
	plan := c.PlanImportAll()
	if plan.ClientCount() < 9 || len(plan.Skipped) != 0 {
		t.Fatalf("%d servers of %d clients, left out %v", plan.ServerCount(), plan.ClientCount(), plan.Skipped)
	}
	require.NoError(t, plan.Apply(t.Context(), nil, func(ClientResult) {}))
	compare("after the import")
	assert.Equal(t, 0, c.PlanImportAll().ClientCount(), "there is something left")
	require.NoError(t, c.UndoAll(t.Context(), true, false, func(UndoResult) {}))
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
	require.NoError(t, plan.Apply(t.Context(), func(string) error { return nil }, func(ClientResult) {}))
	require.NoError(t, c.UndoAll(t.Context(), true, false, func(UndoResult) {}))
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
	require.Truef(t, len(done) == 11 && done[0].Err != nil && done[0].Servers == 0, "done: %+v", done)
	for n, d := range done[1:] {
		require.NoError(t, d.Err, d.Client.Name)
		require.Equal(t, plan.Plans[n+1].MovedCount(), d.Servers, d.Client.Name)
	}
	assert.Equal(t, changed, content(t, first.Path), "the file that changed")
	now := content(t, config)
	assert.Truef(t, !strings.Contains(now, "mcp/postgres") && strings.Contains(now, "context7"), "our configuration is\n%s", now)
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

// newMover returns a Connector with a configuration of ours next to the home.
func newMover(t *testing.T) (c *Connector, home, config string) {
	t.Helper()
	home, config = t.TempDir(), filepath.Join(t.TempDir(), "config.jsonc")
	c, err := New(Options{
		System: System{GOOS: "linux", Home: home, Getenv: func(string) string { return "" }},
		Dir:    filepath.Join(t.TempDir(), "clients"), Program: "/opt/drawbridge/drawbridge", Config: config,
	})
	require.NoError(t, err)
	return c, home, config
}

// convertServer returns the conversion of one server of a client's file.
func convertServer(t *testing.T, id, file, text string) ImportedServer {
	t.Helper()
	c, home, _ := newMover(t)
	write(t, filepath.Join(home, file), text)
	all, err := c.Servers(Choice{Client: id})
	require.NoError(t, err)
	require.Len(t, all, 1)
	return all[0]
}

func TestServersOfEveryShapeAreConverted(t *testing.T) {
	for _, c := range []struct{ name, id, file, text, want string }{
		{"cursor", "cursor", ".cursor/mcp.json", `{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x", "${env:DIR}"], "env": {"K": "$LITERAL ${OTHER}"}}}}`,
			`{"command":"npx","args":["-y","x","${DIR}"],"env":{"K":"$LITERAL $${OTHER}"},"disabled":true}`},
		{"gemini dollar and timeout", "gemini-cli", ".gemini/settings.json", `{"mcpServers": {"a": {"url": "https://x/mcp", "headers": {"A": "Bearer $TOK"}, "timeout": 30000}}}`,
			`{"type":"http","url":"https://x/mcp","headers":{"A":"Bearer ${TOK}"},"requestTimeoutMs":30000}`},
		{"qwen url is sse", "qwen-code", ".qwen/settings.json", `{"mcpServers": {"a": {"url": "https://x/sse", "type": "http"}}}`, `{"type":"sse","url":"https://x/sse"}`},
		{"cline seconds", "cline", ".cline/data/settings/cline_mcp_settings.json", `{"mcpServers": {"a": {"command": "x", "timeout": 60, "disabled": true}}}`,
			`{"command":"x","requestTimeoutMs":60000,"disabled":true}`},
		{"opencode", "opencode", ".config/opencode/opencode.jsonc", `{"mcp": {"a": {"type": "local", "command": ["bun", "x", "${NOT}"], "environment": {"K": "{env:K}"}, "enabled": false}}}`,
			`{"command":"bun","args":["x","$${NOT}"],"env":{"K":"${K}"},"disabled":true}`},
		{"codex", "codex", ".codex/config.toml", "[mcp_servers.a]\nurl = \"https://x/mcp\"\nbearer_token_env_var = \"TOK\"\nstartup_timeout_sec = 20\ntool_timeout_sec = 1.5\n[mcp_servers.a.env_http_headers]\nX = \"XV\"\n",
			`{"type":"http","url":"https://x/mcp","headers":{"Authorization":"Bearer ${TOK}","X":"${XV}"},"startupTimeoutMs":20000,"requestTimeoutMs":1500}`},
		{"goose", "goose", ".config/goose/config.yaml", "extensions:\n  a:\n    type: stdio\n    cmd: npx\n    args: [-y, g]\n    envs: {A: b}\n    env_keys: [TOK]\n    enabled: true\n    timeout: 300\n",
			`{"command":"npx","args":["-y","g"],"env":{"A":"b"},"inheritEnv":["TOK"],"requestTimeoutMs":300000}`},
		{"vibe list", "mistral-vibe", ".vibe/config.toml", "[[mcp_servers]]\nname = \"a\"\ntransport = \"stdio\"\ncommand = \"uvx\"\nargs = [\"f\"]\n", `{"command":"uvx","args":["f"]}`},
		{"vscode input", "vscode", ".config/Code/User/mcp.json", `{"servers": {"a": {"type": "http", "url": "https://x", "headers": {"A": "${input:gh-token}"}}}}`,
			`{"type":"http","url":"https://x","headers":{"A":"${GH_TOKEN}"}}`},
		{"vscode password is a secret, and a choice keeps its default", "vscode", ".config/Code/User/mcp.json", `{"servers": {"a": {"command": "x", "env": {"K": "${input:pp-key}", "R": "${input:region}", "U": "${input:user}"}}},
			"inputs": [{"id": "pp-key", "type": "promptString", "password": true}, {"id": "region", "type": "pickString", "options": ["eu", "us"], "default": "eu"}, {"id": "user", "type": "promptString", "default": "${HOME}"}]}`,
			`{"command":"x","env":{"K":"${secret:pp_key}","R":"${REGION:-eu}","U":"${USER}"}}`},
		{"cursor with a comment", "cursor", ".cursor/mcp.json", "{\n  // the team's\n  \"mcpServers\": {\"a\": {\"command\": \"x\"}}\n}", `{"command":"x"}`},
		{"windsurf", "windsurf", ".codeium/windsurf/mcp_config.json", `{"mcpServers": {"a": {"serverUrl": "https://x/mcp"}}}`, `{"type":"http","url":"https://x/mcp"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, string(convertServer(t, c.id, c.file, c.text).Entry))
		})
	}
}

func TestValueCommandsAreMarkedAndNeverRun(t *testing.T) {
	trap := filepath.ToSlash(filepath.Join(t.TempDir(), "ran"))
	for name, i := range map[string]ImportedServer{
		"cmd":    convertServer(t, "mcphub-nvim", ".config/mcphub/servers.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "${cmd: touch `+trap+`}"}}}}`),
		"shell":  convertServer(t, "crush", ".config/crush/crush.json", `{"mcp": {"a": {"command": "x", "env": {"K": "$(touch `+trap+`)"}}}}`),
		"helper": convertServer(t, "claude-code", ".claude.json", `{"mcpServers": {"a": {"type": "http", "url": "https://x", "headersHelper": "touch `+trap+`"}}}`),
	} {
		var e configEntry
		assert.Truef(t, json.Unmarshal(i.Entry, &e) == nil && e.Disabled && len(i.Notes) != 0, "%s: %s %v", name, i.Entry, i.Notes)
		assert.NotContains(t, string(i.Entry), `"${cmd`, name)
	}
	require.False(t, exists(trap), "a command ran")
}

func TestImportSkipsDrawbridge(t *testing.T) {
	c, home, _ := newMover(t)
	connect(t, c, "cursor")
	write(t, filepath.Join(home, ".gemini/settings.json"), `{"mcpServers": {"x": {"url": "http://localhost:7575/mcp", "headers": {"Authorization": "Bearer dbr_abc"}}}}`)
	for _, id := range []string{"cursor", "gemini-cli"} {
		all, err := c.Servers(Choice{Client: id})
		require.Truef(t, err == nil && len(all) == 0, "%s: %+v %v", id, all, err)
	}
}

const fiveServers = `{
  "mcpServers": {
    "github": {"type": "http", "url": "https://x/mcp", "headers": {"A": "${T}"}},
    "files": {"command": "npx", "args": ["f"], "alwaysAllow": ["read"], "timeout": 5000}
  },
  "projects": {
    "/home/ana/site": {"mcpServers": {"files": {"command": "npx", "args": ["f"]}}, "history": []},
    "/home/ana/api": {"mcpServers": {"db": {"command": "uvx", "args": ["db"], "cwd": "data"}}}
  }
}
`

func TestMoveKeepsNamesAndUndoesInOneStep(t *testing.T) {
	c, home, config := newMover(t)
	path := filepath.Join(home, ".claude.json")
	write(t, path, fiveServers)
	write(t, config, "{\n  // mine\n  \"mcpServers\": {\n    \"old\": {\"command\": \"o\"},\n  },\n}\n")
	ours := content(t, config)
	p, err := c.PlanMove(Choice{Client: "claude-code"}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(context.Background(), p))
	got, now := content(t, path), content(t, config)
	for label, want := range map[string]bool{"github": true, "files-site": true, "old": false, "none": false} {
		assert.Truef(t, c.WroteEntry(config, label) == want && !c.WroteEntry(path, label), "%s: written by the move is not %v", label, want)
	}
	write(t, config, strings.Replace(now, `"https://x/mcp"`, `"https://y/mcp"`, 1))
	assert.False(t, c.WroteEntry(config, "github"), "an entry that was changed since counts as confirmed")
	write(t, config, now)
	for _, want := range []string{`"alwaysAllow": [`, `"timeout": 5000`, `"files-site"`, `"history": []`} {
		assert.Contains(t, got, want)
	}
	for _, want := range []string{"// mine", `"github"`, `"cwd": "/home/ana/site"`, `"cwd": ` + strconv.Quote(filepath.FromSlash("/home/ana/api/data")), `"files-site"`, `"${T}"`} {
		assert.Contains(t, now, want)
	}
	left, _ := c.Servers(Choice{Client: "claude-code"})
	assert.Empty(t, left)
	if how := undo(t, c, "claude-code"); how != Restored || content(t, path) != fiveServers || content(t, config) != ours {
		t.Fatalf("%s\n%s\n%s", how, content(t, path), content(t, config))
	}
}

func TestUndoOfMoveKeepsLaterChanges(t *testing.T) {
	c, home, config := newMover(t)
	path := filepath.Join(home, ".claude.json")
	write(t, path, fiveServers)
	p, err := c.PlanMove(Choice{Client: "claude-code"}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(context.Background(), p))
	write(t, path, strings.Replace(content(t, path), "{\n", "{\n  \"numStartups\": 9,\n", 1))
	write(t, config, content(t, config)+"// since\n")
	require.Equal(t, Removed, undo(t, c, "claude-code"))
	want := strings.Replace(fiveServers, "{\n", "{\n  \"numStartups\": 9,\n", 1)
	require.Equal(t, want, content(t, path))
	if got := content(t, config); !strings.Contains(got, "// since") || strings.Contains(got, "github\": {\n      \"type\"") || strings.Contains(got, "files-site") {
		t.Fatalf("our configuration is\n%s", got)
	}
}

func TestCombinedMoveWarnsOfRulesAndIsUndone(t *testing.T) {
	c, home, _ := newMover(t)
	write(t, filepath.Join(home, ".claude.json"), fiveServers)
	p, err := c.PlanMove(Choice{Client: "claude-code"}, []string{"github", "files"}, true)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(p.Warnings, "\n"), "permission rules of Claude Code")
	require.NoError(t, c.Apply(context.Background(), p))
	undo(t, c, "claude-code")
	require.Equal(t, fiveServers, content(t, filepath.Join(home, ".claude.json")))
}

func TestCombinedMoveWarnsOfServersThatTheClientHasOff(t *testing.T) {
	for _, combined := range []bool{true, false} {
		c, home, config := newMover(t)
		write(t, config, `{"mcpServers": {"db": {"command": "x"}}}`)
		write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"db": {"command": "x", "disabled": true}}}`)
		p, err := c.PlanMove(Choice{Client: "cursor"}, nil, combined)
		require.NoError(t, err)
		assert.Equal(t, combined, strings.Contains(strings.Join(p.Warnings, "\n"), "db is off in Cursor"))
		require.NoError(t, c.Apply(t.Context(), p))
		assert.NotEqual(t, combined, strings.Contains(content(t, filepath.Join(home, ".cursor/mcp.json")), `"disabled": true`))
	}
}

func TestDuplicatesAcrossClientsAreDetected(t *testing.T) {
	c, home, config := newMover(t)
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {"fs": {"command": "npx", "args": ["f"]}}}`)
	write(t, filepath.Join(home, ".gemini/settings.json"), `{"mcpServers": {"files": {"command": "npx", "args": ["f"], "timeout": 9}}}`)
	write(t, config, `{"mcpServers": {"fs": {"command": "npx", "args": ["f"]}}}`)
	all, err := c.Servers(Choice{Client: "cursor"})
	require.Truef(t, err == nil && len(all) == 1 && all[0].Exists && slices.Equal(all[0].SharedWith, []string{"gemini-cli"}), "%+v %v", all, err)
}

func TestTokenIsNeverWrittenIntoSyncedFile(t *testing.T) {
	c, home := newConnector(t)
	project := filepath.Join(home, "site")
	if _, err := c.Plan(Choice{Client: "codex", Project: project}); core.CodeOf(err) != core.CodeNotFound {
		t.Errorf("a project without a folder: %v", err)
	}
	require.NoError(t, os.MkdirAll(project, 0o700))
	http := Choice{HTTP: true, URL: "http://127.0.0.1:7575", Token: "dbr_secret"}
	for _, id := range []string{"claude-code", "vscode", "opencode"} {
		choice := http
		choice.Client = id
		if id != "vscode" { // its user file is synced
			choice.Project = project
		}
		p, err := c.Plan(choice)
		require.NoError(t, err, id)
		require.NotContains(t, string(p.after), "dbr_secret", id)
		require.Contains(t, string(p.after), TokenVar, id)
	}
	choice := http
	choice.Client, choice.Project = "codex", project
	_, err := c.Plan(choice)
	e, ok := errors.AsType[*core.Error](err)
	require.Truef(t, ok && e.Code == core.CodeRejected, "codex: %v", err)
	dotfiles := filepath.Join(home, "dotfiles", "mcp.json")
	write(t, dotfiles, "{}")
	write(t, filepath.Join(home, "dotfiles", ".git", "HEAD"), "")
	if runtime.GOOS == "windows" { // links need a privilege there
		write(t, filepath.Join(home, ".cursor", ".git", "HEAD"), "")
	} else {
		require.NoError(t, errors.Join(os.MkdirAll(filepath.Join(home, ".cursor"), 0o700), os.Symlink(dotfiles, filepath.Join(home, ".cursor/mcp.json"))))
	}
	choice = http
	choice.Client = "cursor"
	p, err := c.Plan(choice)
	require.NoError(t, err, "a file in a repository gets the token")
	require.NotContains(t, string(p.after), "dbr_secret", "a file in a repository gets the token")
}
