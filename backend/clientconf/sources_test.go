package clientconf

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sourceCase is a file of testdata/sources: the files of a source and of a client that names it, the servers as
// our configuration has them, and what notes or reasons say. A database is written as its statements.
type sourceCase struct {
	files   map[string]string
	servers map[string]json.RawMessage
	notes   []string
}

func readSourceCase(t *testing.T, id, home string) (c sourceCase) {
	t.Helper()
	text := strings.NewReplacer("file://HOME/", "file:///"+strings.TrimPrefix(filepath.ToSlash(home), "/")+"/", "HOME/", filepath.ToSlash(home)+"/", "PROGRAM", "/opt/server", "IMAGE", "demo").Replace(content(t, filepath.Join("testdata/sources", id+".txt")))
	c.files = map[string]string{}
	for _, part := range strings.Split("\n"+text, "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		switch name {
		case "servers":
			require.NoError(t, json.Unmarshal([]byte(body), &c.servers))
		case "notes":
			c.notes = strings.Split(strings.TrimSpace(body), "\n")
		default:
			c.files[name] = body
		}
	}
	return c
}

// write writes the files into a home.
func (c sourceCase) write(t *testing.T, home string) {
	t.Helper()
	for name, text := range c.files {
		path := filepath.Join(home, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		if !strings.HasPrefix(text, "CREATE TABLE") {
			write(t, path, text)
			continue
		}
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "PRAGMA journal_mode = wal;"+text)
		require.NoError(t, errors.Join(err, db.Close()))
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Compact(&b, raw))
	return b.String()
}

// The servers of each source come along; secrets in its keyring are asked for by name, what cannot come along
// is named, its own files stay as they are, and clients that start it are pointed here in the same review.
func TestServersOfEachSourceAreImported(t *testing.T) {
	for _, source := range Sources() {
		t.Run(source.ID, func(t *testing.T) {
			c, home := newConnector(t)
			want := readSourceCase(t, source.ID, home)
			want.write(t, home)
			before := map[string]string{}
			require.NoError(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					before[path] = content(t, path)
				}
				return err
			}))
			own := ownConfig(t, c, `{"mcpServers": {}}`)
			plan, err := c.PlanImport(Choice{Client: source.ID}, nil)
			require.NoError(t, err)
			var said []string
			for _, s := range plan.Servers {
				if got := string(s.Entry); want.servers[s.Label] == nil || got != compact(t, want.servers[s.Label]) {
					t.Errorf("%s:\n%s\nwant\n%s\n%q", s.Label, got, want.servers[s.Label], s.Notes)
				}
				said = append(said, s.Notes...)
			}
			for _, s := range plan.Skipped {
				said = append(said, s.Name+": "+s.Reason)
			}
			if len(plan.Servers) != len(want.servers) {
				t.Errorf("%d servers, want %d", len(plan.Servers), len(want.servers))
			}
			for _, text := range want.notes {
				if !strings.Contains(strings.Join(said, "\n"), text) {
					t.Errorf("nothing says %q: %q", text, said)
				}
			}
			batch := c.PlanMoveAll()
			require.NoError(t, batch.Apply(t.Context(), func(string) error { return nil }, func(ClientResult) {}))
			if content(t, own) == `{"mcpServers": {}}` {
				t.Error("nothing was written")
			}
			if _, isClient := want.files[".cursor/mcp.json"]; isClient && !strings.Contains(content(t, filepath.Join(home, ".cursor/mcp.json")), EntryName) {
				t.Errorf("the client that names it is not connected: %+v", batch.Skipped)
			}
			require.NoError(t, c.UndoAll(t.Context(), true, false, func(UndoResult) {}))
			if got := content(t, own); got != `{"mcpServers": {}}` {
				t.Error("after undo:", got)
			}
			for path, text := range before {
				if content(t, path) != text {
					t.Errorf("%s was changed", path)
				}
			}
			require.NoError(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
				if _, known := before[path]; err == nil && !d.IsDir() && !known {
					t.Errorf("%s was created", path)
				}
				return err
			}))
			if _, err := c.Plan(Choice{Client: source.ID}); err == nil {
				t.Error("the source can be connected")
			}
			if _, err := c.PlanMove(Choice{Client: source.ID}, nil, false); err == nil {
				t.Error("the servers of the source can be moved")
			}
		})
	}
}

// One database of several does not hide the servers in the others.
func TestWorkspaceThatCannotBeReadIsNamed(t *testing.T) {
	c, home := newConnector(t)
	want := readSourceCase(t, "mcp-router", home)
	database := ".config/MCP Router/mcprouter.db"
	want.files[database] = strings.Replace(want.files[database], "../../outside.db", "other.db", 1)
	want.write(t, home)
	write(t, filepath.Join(home, ".config/MCP Router/other.db"), "not a database")
	ownConfig(t, c, `{"mcpServers": {}}`)
	plan, err := c.PlanImport(Choice{Client: "mcp-router"}, nil)
	require.NoError(t, err)
	assert.Len(t, plan.Servers, len(want.servers))
	require.Len(t, plan.Skipped, 1)
	assert.Contains(t, plan.Skipped[0].Reason, "cannot read the workspace in ")
}

// A secret that another server here uses stays with it: a server of a source asks for one of its own.
func TestSecretOfAnotherServerStaysWithIt(t *testing.T) {
	for id, label := range map[string]string{"toolport": "files-toolport.STRIPE_SECRET_KEY", "toolhive": "files-toolhive.files-key"} {
		c, home := newConnector(t)
		readSourceCase(t, id, home).write(t, home)
		ownConfig(t, c, `{"mcpServers": {"files": {"command": "mine", "env": {"A": "${secret:files.STRIPE_SECRET_KEY}", "B": "${secret:files-key:-x}"}}}}`)
		plan, err := c.PlanImport(Choice{Client: id}, []string{"files"})
		require.NoError(t, err)
		require.Len(t, plan.Servers, 1)
		assert.Contains(t, string(plan.Servers[0].Entry), "${secret:"+label+"}")
		assert.Contains(t, plan.Diff, "${secret:"+label+"}")
		assert.Contains(t, strings.Join(plan.Servers[0].Notes, "\n"), "drawbridge secret set "+label)
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
	source := readSourceCase(t, "mcpproxy", home)
	delete(source.files, ".cursor/mcp.json")
	source.write(t, home)
	const written = `{"mcpServers": { // mine
    "proxy": {"url": "http://localhost:9090/mcp"},
    "one": {"command": "npx", "args": ["-y", "@1mcp/agent@latest", "--transport", "stdio"]},
    "tools": {"command": "/opt/Toolport/toolport-gateway"},
    "MCP_DOCKER": {"command": "docker", "args": ["mcp", "gateway", "run", "--profile", "dev"]},
    "router": {"command": "npx", "args": ["-y", "@mcp_router/cli@latest", "connect"]},
    "windows": {"command": "cmd", "args": ["/c", "npx", "-y", "@1mcp/agent"]},
    "env": {"command": "/usr/bin/env", "args": ["A=b", "npx", "-y", "@1mcp/agent"]},
    "other": {"url": "http://localhost:8080/mcp"},
    "dev": {"url": "http://localhost:3000/mcp"},
    "files": {"command": "npx", "args": ["-y", "files", "@1mcp/agent"]},
  }
}
`
	path := filepath.Join(home, ".cursor/mcp.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	write(t, path, written)
	plan, err := c.Plan(Choice{Client: "cursor"})
	require.NoError(t, err)
	if warnings := strings.Join(plan.Warnings, "\n"); strings.Count(warnings, "is removed") != 7 || !strings.Contains(warnings, "drawbridge clients import mcpproxy") {
		t.Error(plan.Warnings)
	}
	require.NoError(t, c.Apply(t.Context(), plan))
	got := content(t, path)
	for _, gone := range []string{"proxy", "one", "tools", "MCP_DOCKER", "router", "windows", "env"} {
		if strings.Contains(got, `"`+gone+`":`) {
			t.Errorf("%s is left in\n%s", gone, got)
		}
	}
	for _, left := range []string{"other", "dev", "files", "drawbridge", "// mine"} {
		if !strings.Contains(got, left) {
			t.Errorf("%s is missing in\n%s", left, got)
		}
	}
	if _, err := c.Undo(t.Context(), "cursor", UndoOptions{}); err != nil {
		t.Error(err)
	}
	if got := content(t, path); got != written {
		t.Errorf("after undo:\n%s", got)
	}
	// In one review: the servers of the gateway and the entries of the client.
	batch := c.PlanMoveAll()
	if len(batch.Plans) != 1 || len(batch.Imports) != 1 || batch.Imports[0].Client.ID != "mcpproxy" || len(batch.Skipped) != 0 {
		t.Errorf("%+v %+v %+v", batch.Plans, batch.Imports, batch.Skipped)
	}
	if batch.ServerCount() != 10 { // seven of MCPProxy, three of Cursor
		t.Error("servers:", batch.ServerCount())
	}
	require.NoError(t, batch.Apply(t.Context(), func(string) error { return nil }, func(ClientResult) {}))
	if got := content(t, path); strings.Contains(got, "toolport") || !strings.Contains(got, `"files"`) {
		t.Error(got)
	}
	if _, err := c.Undo(t.Context(), "cursor", UndoOptions{}); err != nil {
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

// oddValues replace every value in the files of sources.
var oddValues = []any{nil, 5, "", "${secret:a}{{files.x|y}}${", []any{[]any{1}}, map[string]any{"command": map[string]any{}, "name": 5, "url": []any{}}}

// mutations calls visit with v in which each value in turn is odd, and the path of that value.
func mutations(v any, path []string, set func(any), visit func(path []string)) {
	for _, odd := range oddValues {
		set(odd)
		visit(path)
	}
	set(v)
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			mutations(item, append(slices.Clone(path), key), func(x any) { v[key] = x }, visit)
		}
	case []any:
		for n, item := range v {
			mutations(item, append(slices.Clone(path), strconv.Itoa(n)), func(x any) { v[n] = x }, visit)
		}
	}
}

// An entry that is not as it should be harms no other one.
func TestOddEntriesOfSourcesHarmNoOthers(t *testing.T) {
	for _, source := range Sources() {
		t.Run(source.ID, func(t *testing.T) {
			t.Parallel()
			c, home := newConnector(t)
			from := readSourceCase(t, source.ID, home)
			from.write(t, home)
			read := func() int {
				p, err := c.locatePlan(Choice{Client: source.ID})
				if err != nil {
					return 0
				}
				all, _ := c.readServers(p)
				return len(all)
			}
			whole := read()
			for name, text := range from.files {
				var root any
				if name == ".cursor/mcp.json" || json.Unmarshal([]byte(text), &root) != nil {
					continue
				}
				mutations(root, nil, func(x any) { root = x }, func(path []string) {
					raw, err := json.Marshal(root)
					require.NoError(t, errors.Join(err, os.WriteFile(filepath.Join(home, name), raw, 0o600)))
					if got := read(); len(path) > 1 && slices.Equal(path[:1], source.KeyPath) && len(source.VariableForms) > 0 && got < whole-1 {
						t.Errorf("%d of %d servers are left with %s", got, whole, raw)
					}
				})
				write(t, filepath.Join(home, name), text)
			}
			for name, text := range from.files {
				if !strings.HasPrefix(text, "CREATE TABLE") || source.Format != Database {
					continue
				}
				for _, query := range []string{`SELECT * FROM servers`, `SELECT * FROM working_set`, `SELECT * FROM installed_servers`} {
					rows, _ := store.ReadForeign(filepath.Join(home, name), query)
					for _, row := range rows {
						for column, value := range row {
							v := jsonOf(value)
							mutations(v, nil, func(x any) { v = x }, func([]string) {
								raw, err := json.Marshal(v)
								require.NoError(t, err)
								row[column] = string(raw)
								found := foundServers{map[string]any{}, map[string][]string{}}
								list, _ := jsonOf(row["servers"]).([]any)
								found.addProfile(list, "p")
								found.addInstalled(row)
								found.addRouted(row, "w")
								readContainer(&Plan{Client: source, notes: found.notes}, nil, map[string]any{"mcpServers": found.entries}, source.KeyPath, "")
								row[column] = value
							})
						}
					}
				}
			}
		})
	}
}

// Every entry of a hostile file is imported or named with the reason.
func TestHostileFilesOfSources(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		servers int
		reason  string
	}{
		"a byte order mark, CRLF and comments": {"\ufeff// x\r\n{\"mcpServers\": {\"a\": {\"command\": \"a\"},},}\r\n", 1, ""},
		"Drawbridge itself":                    {`{"mcpServers": {"a": {"command": "a"}, "self": {"command": "/opt/drawbridge/drawbridge", "args": ["stdio"]}}}`, 1, "self: it connects to Drawbridge itself"},
		"odd names":                            {`{"mcpServers": {"a/b": {"command": "a"}, "\u0007": {"command": "b"}, "файлы": {"command": "c"}, "": {"command": "d"}, "` + strings.Repeat("x", 5000) + `": {"command": "e"}}}`, -5, ""},
		"deep nesting":                         {`{"mcpServers": {"a": {"command": "a", "x": ` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}}}`, 0, "cannot read"},
		"an array":                             {`[{"command": "a"}]`, 0, ""},
		"no JSON":                              {"\x00\x01", 0, "cannot read"},
	} {
		t.Run(name, func(t *testing.T) {
			connector, home := newConnector(t)
			ownConfig(t, connector, `{"mcpServers": {}}`)
			write(t, filepath.Join(home, "mcp_settings.json"), c.text)
			plan, err := connector.PlanImport(Choice{Client: "mcphub"}, nil)
			if err != nil {
				if c.servers != 0 || !strings.Contains(err.Error(), c.reason) {
					t.Error(err)
				}
				return
			}
			if c.servers < 0 && len(plan.Servers)+len(plan.Skipped) != -c.servers || c.servers >= 0 && len(plan.Servers) != c.servers {
				t.Errorf("%d servers, %v", len(plan.Servers), plan.Skipped)
			}
			var reasons []string
			for _, s := range plan.Skipped {
				reasons = append(reasons, s.Name+": "+s.Reason)
			}
			if !strings.Contains(strings.Join(reasons, "\n"), c.reason) {
				t.Error(reasons)
			}
			if _, err := plan.Apply(t.Context()); err != nil && len(plan.Servers) > 0 {
				t.Error(err)
			}
		})
	}
	many := map[string]any{}
	for n := range maxServers + 2 {
		many[strconv.Itoa(n)] = map[string]any{"command": "a"}
	}
	if all := readContainer(&Plan{}, nil, map[string]any{"mcpServers": many}, []string{"mcpServers"}, ""); len(all) != maxServers+1 || all[maxServers].Name != "2 more servers" {
		t.Error(len(all))
	}
	twice := []any{map[string]any{"name": "a", "command": "a"}, map[string]any{"name": "a", "command": "b"}}
	if all := readContainer(&Plan{}, nil, map[string]any{"mcpServers": twice}, []string{"mcpServers"}, ""); len(all) != 2 || !strings.Contains(all[0].SkipReason, "same name") {
		t.Errorf("%+v", all)
	}
	c, home := newConnector(t)
	require.NoError(t, os.Symlink("mcp_settings.json", filepath.Join(home, "mcp_settings.json")))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".agents/plugins/out"), 0o700))
	write(t, filepath.Join(home, ".agents/plugins/out/plugin.json"), `{"name": "out", "mcpServers": ["../../../secret.json", "/etc/passwd"]}`)
	write(t, filepath.Join(home, "secret.json"), `{"stolen": {"command": "x"}}`)
	large, err := os.Create(filepath.Join(home, "large.json"))
	require.NoError(t, errors.Join(err, large.Truncate(maxFile+1), large.Close()))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".config/1mcp"), 0o700))
	require.NoError(t, os.Symlink(large.Name(), filepath.Join(home, ".config/1mcp/mcp.json")))
	if got := c.Sources(); os.PathSeparator == '/' && (len(got) != 1 || got[0].Key != "1mcp" || !strings.Contains(got[0].Problem, "larger than")) { // 1MCP has another folder on Windows
		t.Errorf("%+v", got)
	}
}
