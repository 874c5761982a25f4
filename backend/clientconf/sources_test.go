package clientconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sourceFiles has one file for each source, in its documented format, with what is expected of it.
var sourceFiles = []struct {
	id, path, content string
	entries           map[string]string // in our configuration, by label
	notes             []string
}{
	{"mcpproxy", ".mcpproxy/mcp_config.json", `{
  "listen": "127.0.0.1:9090", "data_dir": "~/.mcpproxy", "tools_limit": 15,
  "mcpServers": [
    {"name": "files", "protocol": "stdio", "command": "npx", "args": ["-y", "files@1"], "working_dir": "/srv", "env": {"LEVEL": "${env:LEVEL}", "TOKEN": "${keyring:files_token}"}, "enabled": true, "created": "2026-01-01T00:00:00Z"},
    {"name": "wiki", "protocol": "streamable-http", "url": "https://wiki.example/mcp", "headers": {"X-Team": "a"}, "enabled": false},
    {"name": "new", "command": "new-server", "quarantined": true}
  ]
}`, map[string]string{
		"files": `{"command":"npx","args":["-y","files@1"],"env":{"LEVEL":"${LEVEL}","TOKEN":"${secret:files_token}"},"cwd":"/srv"}`,
		"wiki":  `{"type":"http","url":"https://wiki.example/mcp","headers":{"X-Team":"a"},"disabled":true}`,
		"new":   `{"command":"new-server","disabled":true}`,
	}, []string{"drawbridge secret set files_token", "quarantined"}},
	{"1mcp", ".config/1mcp/mcp.json", `{
  "mcpServers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "files"], "cwd": "/srv", "env": {"A": "${A}"}, "tags": ["local"], "disabled": true},
    "wiki": {"type": "streamableHttp", "url": "https://wiki.example/mcp"}
  }
}`, map[string]string{
		"files": `{"command":"npx","args":["-y","files"],"env":{"A":"${A}"},"cwd":"/srv","disabled":true}`,
		"wiki":  `{"type":"http","url":"https://wiki.example/mcp"}`,
	}, nil},
	{"toolport", ".config/Toolport/registry.json", `{
  "version": 1,
  "servers": [
    {"id": "stripe", "name": "Stripe", "transport": "stdio", "command": "npx", "args": ["-y", "@stripe/mcp"], "env": [{"key": "STRIPE_SECRET_KEY", "secret": true}, {"key": "REGION", "value": "eu", "secret": false}], "source": "manual"},
    {"id": "notes", "name": "notes", "transport": "stdio", "command": "notes-server", "args": [], "env": [], "source": "manual"}
  ],
  "profiles": [{"id": "default", "name": "Default", "enabledServerIds": ["stripe"]}],
  "activeProfileId": "default"
}`, map[string]string{
		"Stripe": `{"command":"npx","args":["-y","@stripe/mcp"],"env":{"REGION":"eu","STRIPE_SECRET_KEY":"${secret:Stripe.STRIPE_SECRET_KEY}"}}`,
		"notes":  `{"command":"notes-server","disabled":true}`,
	}, []string{"drawbridge secret set Stripe.STRIPE_SECRET_KEY"}},
	{"claude-desktop-extensions", ".config/Claude/Claude Extensions/local.files/manifest.json", `{
  "manifest_version": "0.3", "name": "files", "version": "1.0.0",
  "server": {"type": "node", "entry_point": "index.js", "mcp_config": {"command": "node", "args": ["${__dirname}/index.js", "${user_config.folder}"], "env": {"KEY": "${user_config.key}"}}},
  "user_config": {"folder": {"type": "directory", "default": "/srv"}, "key": {"type": "string", "sensitive": true}}
}`, map[string]string{
		"files": `{"command":"node","args":["HOME/.config/Claude/Claude Extensions/local.files/index.js","/srv"],"env":{"KEY":"${secret:files.key}"}}`,
	}, []string{"drawbridge secret set files.key", "switch the extension off"}},
	{"claude-code-plugins", ".claude/plugins/cache/market/review/1.0.0/.mcp.json", `{"review": {"command": "${CLAUDE_PLUGIN_ROOT}/server", "args": ["--stdio"]}}`, map[string]string{
		"review": `{"command":"HOME/.claude/plugins/cache/market/review/1.0.0/server","args":["--stdio"]}`,
	}, []string{"claude plugin disable"}},
}

// The servers of another gateway come along; secrets in its keyring are asked for by name, and its own file
// stays as it is.
func TestServersOfEachSourceAreImported(t *testing.T) {
	for _, source := range sourceFiles {
		t.Run(source.id, func(t *testing.T) {
			c, home := newConnector(t)
			path := filepath.Join(home, source.path)
			must(t, os.MkdirAll(filepath.Dir(path), 0o700))
			write(t, path, source.content)
			if source.id == "claude-code-plugins" { // an earlier version is not imported
				write(t, filepath.Join(home, ".claude/plugins/installed_plugins.json"), `{"version": 2, "plugins": {"review@market": [{"scope": "user", "installPath": "`+filepath.ToSlash(filepath.Dir(path))+`", "version": "1.0.0"}]}}`)
				write(t, filepath.Join(home, ".claude/plugins/cache/market/review/0.9.0/.mcp.json"), `{"old": {"command": "old-server"}}`)
			}
			own := ownConfig(t, c, `{"mcpServers": {}}`)
			plan, err := c.PlanImport(Choice{Client: source.id}, nil)
			must(t, err)
			found := map[string]string{}
			var notes []string
			for _, s := range plan.Servers {
				found[s.Label] = strings.ReplaceAll(string(s.Entry), filepath.ToSlash(home), "HOME")
				notes = append(notes, s.Notes...)
			}
			for label, want := range source.entries {
				if found[label] != want {
					t.Errorf("%s:\n%s\nwant\n%s", label, found[label], want)
				}
			}
			if len(found) != len(source.entries) {
				t.Errorf("found %v", found)
			}
			for _, want := range source.notes {
				if !strings.Contains(strings.Join(notes, "\n"), want) {
					t.Errorf("no note says %q: %q", want, notes)
				}
			}
			before := content(t, own)
			id, err := plan.Apply(t.Context())
			must(t, err)
			if content(t, own) == before {
				t.Error("nothing was written")
			}
			if _, err := c.UndoImport(t.Context(), id); err != nil {
				t.Error(err)
			}
			if got := content(t, own); got != before {
				t.Errorf("after undo:\n%s\nwant\n%s", got, before)
			}
			if content(t, path) != source.content {
				t.Error("the file of the source was changed")
			}
			if _, err := c.Plan(Choice{Client: source.id}); err == nil {
				t.Error("the source can be connected")
			}
			if _, err := c.PlanMove(Choice{Client: source.id}, nil, false); err == nil {
				t.Error("the servers of the source can be moved")
			}
		})
	}
}

// What other gateways export is read as it is.
func TestExportedServersAreRead(t *testing.T) {
	for name, c := range map[string]struct{ text, label, want string }{
		"a profile of Docker's MCP Toolkit": {`
version: 1
id: dev
name: dev
servers:
  - type: image
    image: mcp/github@sha256:aa
    secrets: default
    tools: [create_issue]
    snapshot:
      server:
        name: github
        type: server
        image: mcp/github@sha256:aa
        secrets:
          - name: github.personal_access_token
            env: GITHUB_PERSONAL_ACCESS_TOKEN
        env:
          - name: LEVEL
            value: info
secrets:
  default:
    provider: docker-desktop-store
`, "github", `{"docker":{"image":"mcp/github@sha256:aa"},"env":{"GITHUB_PERSONAL_ACCESS_TOKEN":"${secret:github.personal_access_token}","LEVEL":"info"},"includeTools":["create_issue"],"type":"docker"}`},
		"a server of ToolHive": {`{"schema_version": "v0.1.0", "image": "ghcr.io/example/fetch:1", "name": "fetch", "transport": "stdio", "host": "127.0.0.1", "port": 8000, "cmd_args": ["--quiet"], "env_vars": {"A": "b"}, "secrets": ["fetch-key,target=KEY"], "volumes": ["/srv:/srv:ro"]}`,
			"fetch", `{"args":["--quiet"],"docker":{"image":"ghcr.io/example/fetch:1","mounts":["/srv:/srv:ro"]},"env":{"A":"b","KEY":"${secret:fetch-key}"},"type":"docker"}`},
		"an Agent Plugin":    {`{"$schema": "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json", "mcpServers": {"a": {"type": "stdio", "command": "a-server"}}}`, "a", `{"command":"a-server"}`},
		"settings of MCPHub": {`{"mcpServers": {"a": {"command": "npx", "args": ["a"], "enabled": false}}, "users": [{"username": "admin", "password": "x"}], "systemConfig": {"routing": {}}}`, "a", `{"command":"npx","args":["a"],"disabled":true}`},
	} {
		all, err := ReadPasted(c.text)
		if err != nil || len(all) != 1 || all[0].Label != c.label || string(all[0].Entry) != c.want {
			t.Errorf("%s: %v %+v\n%s", name, err, all, c.want)
			if len(all) == 1 {
				t.Errorf("got %s", all[0].Entry)
			}
		}
	}
}

// A client that starts another gateway is pointed here in the same review; undoing restores its file.
func TestConnectingReplacesOtherGateways(t *testing.T) {
	c, home := newConnector(t)
	ownConfig(t, c, `{"mcpServers": {}}`)
	must(t, os.MkdirAll(filepath.Join(home, ".mcpproxy"), 0o700))
	write(t, filepath.Join(home, ".mcpproxy/mcp_config.json"), sourceFiles[0].content)
	const written = `{"mcpServers": { // mine
    "proxy": {"url": "http://localhost:9090/mcp"},
    "one": {"command": "npx", "args": ["-y", "@1mcp/agent@latest", "--transport", "stdio"]},
    "tools": {"command": "/opt/Toolport/toolport-gateway"},
    "MCP_DOCKER": {"command": "docker", "args": ["mcp", "gateway", "run", "--profile", "dev"]},
    "router": {"command": "npx", "args": ["-y", "@mcp_router/cli@latest", "connect"]},
    "other": {"url": "http://localhost:8080/mcp"},
    "files": {"command": "npx", "args": ["-y", "files", "@1mcp/agent"]},
  }
}
`
	path := filepath.Join(home, ".cursor/mcp.json")
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write(t, path, written)
	plan, err := c.Plan(Choice{Client: "cursor"})
	must(t, err)
	if warnings := strings.Join(plan.Warnings, "\n"); strings.Count(warnings, "is removed") != 5 || !strings.Contains(warnings, "drawbridge clients import mcpproxy") {
		t.Error(plan.Warnings)
	}
	must(t, c.Apply(t.Context(), plan))
	got := content(t, path)
	for _, gone := range []string{"proxy", "one", "tools", "MCP_DOCKER", "router"} {
		if strings.Contains(got, `"`+gone+`":`) {
			t.Errorf("%s is left in\n%s", gone, got)
		}
	}
	for _, left := range []string{"other", "files", "drawbridge", "// mine"} {
		if !strings.Contains(got, left) {
			t.Errorf("%s is missing in\n%s", left, got)
		}
	}
	if _, err := c.Undo(t.Context(), "cursor", false); err != nil {
		t.Error(err)
	}
	if got := content(t, path); got != written {
		t.Errorf("after undo:\n%s", got)
	}
	// In one review: the servers of the gateway and the entries of the client.
	batch := c.PlanMoveAll(true)
	if len(batch.Plans) != 1 || len(batch.Imports) != 1 || batch.Imports[0].Client.ID != "mcpproxy" || len(batch.Skipped) != 0 {
		t.Errorf("%+v %+v %+v", batch.Plans, batch.Imports, batch.Skipped)
	}
	if batch.ServerCount() != 5 { // three of MCPProxy, two of Cursor
		t.Error("servers:", batch.ServerCount())
	}
	must(t, batch.Apply(t.Context(), func(string) error { return nil }, func(ClientResult) {}))
	if got := content(t, path); strings.Contains(got, "toolport") || !strings.Contains(got, `"files"`) {
		t.Error(got)
	}
	if _, err := c.Undo(t.Context(), "cursor", false); err != nil {
		t.Error(err)
	}
	if got := content(t, path); got != written {
		t.Errorf("after undo of the move:\n%s", got)
	}
}

// ownConfig gives the connector a configuration file of ours.
func ownConfig(t *testing.T, c *Connector, content string) (path string) {
	t.Helper()
	c.config = filepath.Join(t.TempDir(), "config.jsonc")
	write(t, c.config, content)
	return c.config
}
