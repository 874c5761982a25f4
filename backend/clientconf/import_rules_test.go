package clientconf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRulesOutsideOfEntriesAreKept covers rules that a client has about tools beside its servers or in
// another file: they apply to everyone after an import.
func TestRulesOutsideOfEntriesAreKept(t *testing.T) {
	const claude, opencode, amp, zed, gemini = ".claude.json", ".config/opencode/opencode.json", ".config/amp/settings.json", ".config/zed/settings.json", ".gemini/settings.json"
	zedFile := func(agent string) string {
		return `{"context_servers": {"db": {"command": "x"}}, "agent": {` + agent + `}}`
	}
	const db = `{"mcpServers": {"db": {"command": "x"}}}`
	mcp := func(rules string) string {
		return `{"mcp": {"db": {"type": "local", "command": ["x"]}}, ` + rules + `}`
	}
	ampFile := func(rules string) string {
		return `{"amp.mcpServers": {"db": {"command": "npx", "args": ["x"]}}, ` + rules + `}`
	}
	for n, c := range []struct {
		client string
		files  map[string]string
		want   string // of the entry, after the command
	}{
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"permissions": {"deny": ["mcp__db__drop", "mcp__other__x", "Bash(rm:*)"], "ask": ["mcp__db__write"], "allow": ["mcp__db__read"]}}`},
			`"excludeTools":["drop"],"tools":{"write":{"approval":"ask"}}`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"permissions": {"deny": ["mcp__db"]}}`}, `"excludeTools":["*"]`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"permissions": {"ask": ["mcp__*__write*"]}}`}, `"approval":"ask"`},
		{"claude-code", map[string]string{claude: `{"projects": {"HOME/site": ` + db + `, "HOME/api": {}}}`, "site/.claude/settings.local.json": `{"permissions": {"deny": ["mcp__d*__a"]}}`, "api/.claude/settings.json": `{"permissions": {"deny": ["mcp__db__b"]}}`},
			`"excludeTools":["*__a","_a","a"]`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"permissions": `}, `"disabled":true`},
		{"cursor", map[string]string{".cursor/mcp.json": db, ".cursor/cli-config.json": `{"permissions": {"allow": [], "deny": ["Mcp(db:drop)", "Mcp(*:rm_*)", "Shell(rm)"]}}`}, `"excludeTools":["drop","*:rm_*","rm_*"]`},
		{"opencode", map[string]string{opencode: mcp(`"tools": {"db_*": false, "db_read": true, "bash": false}`)}, `"includeTools":["read"]`},
		{"opencode", map[string]string{opencode: mcp(`"permission": {"db_read": "allow", "*": "deny"}`)}, `"excludeTools":["*"]`},
		{"opencode", map[string]string{opencode: mcp(`"permission": {"*": "deny", "db_*": "allow", "db_drop": "deny", "db_write": "ask"}`)}, `"excludeTools":["drop"],"tools":{"write":{"approval":"ask"}}`},
		{"opencode", map[string]string{opencode: mcp(`"permission": {"edit": "deny", "bash": {"rm *": "deny"}}`)}, ``},
		{"opencode", map[string]string{opencode: mcp(`"permission": "ask"`)}, `"approval":"ask"`},
		{"opencode", map[string]string{opencode: mcp(`"permission": {"db_drop": {"*.sql": "deny"}}`)}, `"disabled":true`},
		{"opencode", map[string]string{opencode + "c": mcp(`"theme": "x"`), opencode: `{"tools": {"db_drop": false}}`}, `"excludeTools":["drop"]`},
		{"amp", map[string]string{amp: ampFile(`"amp.permissions": [{"tool": "mcp__db__read", "action": "allow"}, {"tool": "mcp__*", "action": "reject"}], "amp.tools.disable": ["mcp__db__drop", "builtin:edit_file"]`)},
			`"includeTools":["read"],"excludeTools":["drop"]`},
		{"amp", map[string]string{amp: ampFile(`"amp.permissions": [{"tool": "mcp__db__q", "matches": {"sql": "*DROP*"}, "action": "reject"}]`)}, `"disabled":true`},
		{"amp", map[string]string{amp: ampFile(`"amp.permissions": [{"tool": "*", "action": "delegate", "to": "helper"}]`)}, `"disabled":true`},
		{"amp", map[string]string{amp: ampFile(`"amp.mcpPermissions": [{"matches": {"command": "npx *"}, "action": "reject"}]`)}, `"disabled":true`},
		{"amp", map[string]string{amp: ampFile(`"amp.mcpPermissions": [{"matches": {"command": "npx *"}, "action": "allow"}, {"matches": {"command": "*"}, "action": "reject"}]`)}, ``},
		{"zed", map[string]string{zed: `{"context_servers": {"db": {"command": "x"}}, "agent": {"tool_permissions": {"tools": {"mcp:db:drop": {"default": "deny"}, "mcp:db:write": {"default": "confirm"}, "terminal": {"always_deny": [{"pattern": "rm"}]}}},
			"profiles": {"safe": {"context_servers": {"db": {"tools": {"rm": false, "read": true}}}}}}}`}, `"excludeTools":["drop","rm"],"tools":{"write":{"approval":"ask"}}`},
		{"zed", map[string]string{zed: `{"context_servers": {"db": {"command": "x"}}, "agent": {"tool_permissions": {"tools": {"mcp:db:q": {"default": "allow", "always_deny": [{"pattern": "drop"}]}}}}}`}, `"disabled":true`},
		{"gemini-cli", map[string]string{".gemini/settings.json": `{"mcpServers": {"db": {"command": "x"}}, "tools": {"exclude": ["drop", "run_shell_command", "mcp_db_rm"]}, "excludeTools": ["db__a"]}`}, `"excludeTools":["db__a","a","drop","mcp_db_rm","rm"]`},
		{"zed", map[string]string{zed: zedFile(`"profiles": {"write": {"enable_all_context_servers": false, "context_servers": {"db": {"tools": {"read": true, "drop": false}}}}}`)}, `"includeTools":["read"],"excludeTools":["drop"]`},
		{"zed", map[string]string{zed: zedFile(`"default_profile": "safe", "profiles": {"safe": {"context_servers": {"other": {"tools": {"read": true}}}}}`)}, `"excludeTools":["*"]`},
		{"zed", map[string]string{zed: zedFile(`"default_profile": "minimal"`)}, `"excludeTools":["*"]`},
		{"zed", map[string]string{zed: zedFile(`"default_profile": "x", "profiles": {"x": {"enable_all_context_servers": true}, "y": {"enable_all_context_servers": false}}`)}, ``},
		{"zed", map[string]string{zed: zedFile(`"tool_permissions": {"default": "deny"}`)}, `"excludeTools":["*"]`},
		{"zed", map[string]string{zed: zedFile(`"tool_permissions": {"default": "confirm"}`)}, `"approval":"ask"`},
		{"opencode", map[string]string{opencode: mcp(`"agent": {"build": {"tools": {"db_drop": false}}, "plan": {"tools": {"*": false}}}`)}, `"excludeTools":["drop"]`},
		{"opencode", map[string]string{opencode: mcp(`"default_agent": "plan", "agent": {"build": {"tools": {"db_*": false}}, "plan": {"permission": {"db_drop": "deny", "db_write": "ask"}}}`)}, `"excludeTools":["drop"],"tools":{"write":{"approval":"ask"}}`},
		{"gemini-cli", map[string]string{gemini: db, ".gemini/policies/a.toml": "[[rule]]\nmcpName = \"db\"\ntoolName = [\"drop\", \"rm\"]\ndecision = \"deny\"\npriority = 1\n[[rule]]\ntoolName = \"mcp_*_write\"\ndecision = \"ask_user\"\n[[rule]]\ntoolName = \"*\"\nmodes = [\"plan\"]\ndecision = \"deny\"\n[[rule]]\nmcpName = \"other\"\ndecision = \"deny\"\n"},
			`"excludeTools":["drop","rm"],"tools":{"write":{"approval":"ask"}},"approval":"ask"`},
		{"gemini-cli", map[string]string{gemini: db, ".gemini/policies/a.toml": "[[rule]]\nmcpName = \"db\"\ndecision = \"deny\"\n"}, `"excludeTools":["*"]`},
		{"gemini-cli", map[string]string{gemini: db, ".gemini/policies/a.toml": "[[rule]]\nmcpName = \"db\"\ntoolName = \"q\"\nargsPattern = \"DROP\"\ndecision = \"deny\"\n"}, `"disabled":true`},
		{"gemini-cli", map[string]string{gemini: db, ".gemini/policies/a.toml": "[[rule]\n"}, `"disabled":true`},
		{"gemini-cli", map[string]string{gemini: `{"mcpServers": {"db": {"command": "x"}}, "tools": {"exclude": ["write(sql)"]}}`}, `"disabled":true`},
		{"gemini-cli", map[string]string{gemini: db, ".gemini/mcp-server-enablement.json": `{"db": {"enabled": false}}`}, `"disabled":true`},
		{"gemini-cli", map[string]string{gemini: db, ".gemini/mcp-server-enablement.json": `{"db": {"enabled": true}, "other": {"enabled": false}}`}, ``},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"deniedMcpServers": [{"serverName": "db"}]}`}, `"disabled":true`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"deniedMcpServers": [{"serverCommand": ["x"]}]}`}, `"disabled":true`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"deniedMcpServers": [{"serverName": "other"}, {"serverCommand": ["x", "y"]}], "allowedMcpServers": [{"serverName": "db"}]}`}, ``},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"allowedMcpServers": []}`}, `"disabled":true`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"allowedMcpServers": [{"serverName": "db"}, {"serverCommand": ["y"]}]}`}, `"disabled":true`},
		{"claude-code", map[string]string{claude: db, ".claude/settings.json": `{"deniedMcpServers": ["db"]}`}, `"disabled":true`},
		{"continue", map[string]string{".continue/config.yaml": "mcpServers:\n  - name: db\n    command: x\n", ".continue/permissions.yaml": "exclude: [drop, Bash, \"Write(*)\"]\nask: [write]\n"}, `"excludeTools":["drop"],"tools":{"write":{"approval":"ask"}}`},
		{"continue", map[string]string{".continue/config.yaml": "mcpServers:\n  - name: db\n    command: x\n", ".continue/permissions.yaml": "exclude: [\"drop(a*)\"]\n"}, `"disabled":true`},
		{"copilot-cli", map[string]string{".copilot/mcp-config.json": db, ".copilot/config.json": `{"disabledMcpServers": ["db"]}`}, `"disabled":true`},
		{"qwen-code", map[string]string{".qwen/settings.json": `{"mcpServers": {"db": {"command": "x"}}, "permissions": {"deny": ["mcp__db__drop"]}}`}, `"excludeTools":["drop"]`},
		{"crush", map[string]string{".config/crush/crush.json": `{"mcp": {"db": {"type": "stdio", "command": "x"}}, "options": {"disabled_tools": ["bash", "mcp_db_drop"]}}`}, `"excludeTools":["drop"]`},
		{"goose", map[string]string{".config/goose/config.yaml": "extensions:\n  db:\n    type: stdio\n    cmd: x\n    args: []\n    enabled: true\n", ".config/goose/permission.yaml": "user:\n  always_allow: [db__read]\n  ask_before: [db__write]\n  never_allow: [db__drop]\n"},
			`"excludeTools":["drop"],"tools":{"write":{"approval":"ask"}}`},
	} {
		t.Run(fmt.Sprint(n, c.client), func(t *testing.T) {
			connector, home, _ := newMover(t)
			for path, text := range c.files {
				write(t, filepath.Join(home, path), strings.ReplaceAll(text, "HOME", filepath.ToSlash(home)))
			}
			all, err := connector.Servers(Choice{Client: c.client})
			require.NoError(t, err)
			at := slices.IndexFunc(all, func(i ImportedServer) bool { return i.Name == "db" })
			require.Truef(t, at >= 0, "%+v", all)
			entry := string(all[at].Entry)
			for _, run := range []string{`"command":"x"`, `"command":"npx","args":["x"]`, `"cwd":"` + filepath.ToSlash(home) + `/site"`} {
				entry = strings.Replace(entry, run, "", 1)
			}
			if entry = strings.Trim(entry, "{},"); entry != strings.TrimRight(c.want, "}") {
				t.Errorf("becomes %s\nwant    %s\nnotes %q", entry, c.want, all[at].Notes)
			}
			notes := strings.Join(all[at].Notes, "\n")
			if c.want != "" && notes == "" || len(c.files) > 1 && c.want == `"disabled":true` && !strings.Contains(notes, home) {
				t.Errorf("no note, or one without the file: %s", notes)
			}
		})
	}
}

func TestPastedRulesAreKept(t *testing.T) {
	all, err := ReadPasted(`{"mcpServers": {"db": {"command": "x", "excludeTools": ["own"]}}, "tools": {"exclude": ["drop"]}}`)
	require.NoError(t, err)
	if len(all) != 1 || !strings.Contains(string(all[0].Entry), `"drop"`) || !strings.Contains(string(all[0].Entry), `"own"`) {
		t.Errorf("%s", all[0].Entry)
	}
	for text, want := range map[string]string{
		`{"mcpServers": {"db": {"command": "x"}}, "mcp": {"excluded": ["db"]}}`: `"disabled":true`, `{"mcpServers": {"db": {"command": "x"}}, "mcp": {"allowed": ["a"]}}`: `"disabled":true`,
		`{"mcpServers": {"db": {"type": "local", "command": "x", "tools": []}}}`: `"excludeTools":["*"]`, `{"mcpServers": {"db": {"command": "x", "includeTools": []}}}`: `"includeTools":[]`,
		`{"mcpServers": {"db": {"command": "x", "ExcludeTools": ["drop"]}}}`: `"excludeTools":["drop"]`,
	} {
		if all, err := ReadPasted(text); err != nil || len(all) != 1 || !strings.Contains(string(all[0].Entry), want) {
			t.Errorf("%s: %v %+v", text, err, all)
		}
	}
}
