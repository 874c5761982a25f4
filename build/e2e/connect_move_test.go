//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree returns every file below dir with its mode and content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		all[name] = info.Mode().String()
		if e.Type().IsRegular() {
			all[name] += " " + take(t, path)
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

// entryOf is the command that Claude Code starts for a server.
type entryOf struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

// ask starts a server as Claude Code does, in the folder of its project, lists its tools and calls
// one without arguments.
func (e entryOf) ask(t testing.TB, d *daemon, dir, tool string) (tools []string, result string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit(30*time.Second))
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Command, e.Args...)
	cmd.Dir, cmd.Env = dir, d.env()
	for key, value := range e.Env {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	c := startLines(t, cmd)
	defer c.end()
	defer cancel()
	c.initialize(`{}`)
	var list struct{ Tools []struct{ Name string } }
	require.NoError(t, json.Unmarshal(c.ask(2, "tools/list", "").Result, &list))
	for _, tool := range list.Tools {
		tools = append(tools, tool.Name)
	}
	slices.Sort(tools)
	if tool == "" {
		return tools, ""
	}
	return tools, string(c.ask(3, "tools/call", `"name":"`+tool+`","arguments":{}`).Result)
}

func TestMovedClaudeCodeKeepsSettingsAndUninstallLeavesNoTrace(t *testing.T) {
	t.Parallel()
	program := claudeCodeBinary(t)
	d := start(t, object{"mcpServers": object{}})
	project := filepath.Join(d.home, "work", "site")
	script := func(name string) string {
		return abs("node_modules/@modelcontextprotocol/server-" + name + "/dist/index.js")
	}
	put(t, filepath.Join(project, "README.md"), "site\n")
	home := fmt.Sprintf(`{
  "numStartups": 41,
  "big": 9007199254740993,
  "mcpServers": {
    "demo": {"type": "stdio", "command": %[1]q, "args": ["demo-server"], "env": {}},
    "memory": {"type": "stdio", "command": %[2]q, "args": [%[3]q], "env": {"MEMORY_FILE_PATH": "${HOME}/memory.json"}, "timeout": 45000},
    "thinking": {"type": "stdio", "command": %[2]q, "args": [%[4]q]},
    "every_thing": {"type": "stdio", "command": %[2]q, "args": [%[5]q], "alwaysLoad": true}
  },
  "projects": {
    %[6]q: {
      "allowedTools": ["mcp__files__read_file"],
      "mcpServers": {"files": {"type": "stdio", "command": %[2]q, "args": [%[7]q, "."], "env": {}}},
      "hasTrustDialogAccepted": true
    }
  }
}
`, binary, node, script("memory"), script("sequential-thinking"), script("everything"), project, script("filesystem"))
	put(t, filepath.Join(d.home, ".claude.json"), home)
	rules := `{"permissions": {"allow": ["mcp__demo__echo", "mcp__files", "mcp__memory__read_graph"], "deny": ["mcp__every_thing__get-env"]}}`
	put(t, filepath.Join(d.home, ".claude", "settings.json"), rules)
	before := tree(t, d.home)

	entries := func() map[string]entryOf {
		var file struct {
			MCPServers map[string]entryOf `json:"mcpServers"`
			Projects   map[string]struct {
				MCPServers map[string]entryOf `json:"mcpServers"`
			} `json:"projects"`
		}
		require.NoError(t, json.Unmarshal([]byte(take(t, filepath.Join(d.home, ".claude.json"))), &file))
		for name, e := range file.Projects[project].MCPServers {
			file.MCPServers[name] = e
		}
		return file.MCPServers
	}
	calls := map[string]string{"demo": "", "memory": "read_graph", "thinking": "", "every_thing": "", "files": "list_allowed_directories"}
	type answer struct {
		tools  []string
		result string
	}
	ask := func() map[string]answer {
		got := map[string]answer{}
		for name, e := range entries() {
			if v := e.Env["MEMORY_FILE_PATH"]; v != "" {
				e.Env["MEMORY_FILE_PATH"] = filepath.Join(d.home, "memory.json") // with the variable expanded as Claude Code does
			}
			tools, result := e.ask(t, d, project, calls[name])
			got[name] = answer{tools, result}
		}
		return got
	}
	old := ask()

	t.Log(d.cli(0, "clients", "move", "claude-code", "--yes"))
	moved := entries()
	require.Len(t, moved, 5, "the client")
	for name, e := range moved {
		require.Equal(t, binary, e.Command, name)
		require.Contains(t, e.Args, "stdio", name)
	}
	d.running("demo", "memory", "thinking", "every_thing", "files")
	now := ask()
	for name, was := range old {
		for _, tool := range was.tools { // a server may offer us more tools, because we support requests from servers
			if slices.Contains(now[name].tools, tool) != (tool != "get-env") { // which the client's rules deny
				t.Errorf("%s offered %s, offers %v", name, tool, now[name].tools)
			}
		}
		assert.Equal(t, canonical(now[name].result), canonical(was.result))
	}
	require.Contains(t, now["files"].result, project, "files does not run in the project")

	d.cli(0, "uninstall", "--yes")
	after := tree(t, d.home)
	for name, was := range before {
		assert.Equal(t, was, after[name])
	}
	for name := range after {
		assert.Contains(t, before, name, "left behind")
	}
	eventually.Complete(t, limit(5*time.Second), func() string {
		var list struct{ Items []server }
		if d.get("/api/v1/servers", &list); len(list.Items) > 0 {
			return fmt.Sprintf("our configuration still has %v", list.Items)
		}
		return ""
	})

	d.cli(0, "clients", "move", "claude-code", "--yes")
	d.running("demo", "memory", "thinking", "every_thing", "files")
	_, env := isolatedHome(t)
	env[0] = "HOME=" + d.home
	cmd := command(t, nil, program, "mcp", "list")
	cmd.Dir = project
	cmd.Env = append(env, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1")
	list := run(t, cmd, 0)
	for name := range calls {
		assert.Truef(t, regexp.MustCompile(`(?m)^`+name+`: .*Connected`).MatchString(list), "Claude Code does not reach %s:\n%s", name, list)
	}
	t.Log(list)
	d.cli(0, "clients", "undo", "claude-code") // after Claude Code wrote its file
	for name, e := range entries() {
		assert.Falsef(t, slices.Contains(e.Args, "stdio"), "%s is still ours after undo: %+v", name, e)
	}
}

// canonical removes white space, which may change.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, _ := json.Marshal(v)
	return string(b)
}
