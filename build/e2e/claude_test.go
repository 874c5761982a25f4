//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// Settings edited by the user: unusual spacing, an escape, a number that no float can represent, no
// newline at the end.
const claudeSettings = "{\n   \"numStartups\":7 , \"theme\" : \"d\\u0061rk\",\n\t\"big\": 9007199254740993,\r\n  \"mcpServers\": { \"other\": {\"type\":\"stdio\", \"command\":\"true\", \"args\":[ ] } }\n}"

func claude(t testing.TB) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	path := abs("node_modules/@anthropic-ai/claude-code-" + runtime.GOOS + "-" + arch + "/claude")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("Claude Code is not there for this system: %v", err)
	}
	return path
}

func TestClaudeCodeConnectsThroughWrittenEntry(t *testing.T) {
	t.Parallel()
	program := claude(t)
	d := start(t, object{"mcpServers": object{"demo": demo()}})
	d.running("demo")
	settings := filepath.Join(d.home, ".claude.json")
	if err := os.WriteFile(settings, []byte(claudeSettings), 0o600); err != nil {
		t.Fatal(err)
	}
	d.cli(0, "clients", "connect", "claude-code", "--yes")
	connected, err := os.ReadFile(settings)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Big        json.Number
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal(connected, &got); err != nil {
		t.Fatalf("%v in %s", err, connected)
	}
	if e := got.MCPServers["drawbridge"]; !strings.HasSuffix(e.Command, "drawbridge") || len(e.Args) == 0 || e.Args[0] != "stdio" {
		t.Fatalf("the entry is %+v", e)
	}

	d.cli(0, "clients", "disconnect", "claude-code")
	if restored, _ := os.ReadFile(settings); string(restored) != claudeSettings {
		t.Fatalf("disconnect leaves\n%q\nwant\n%q", restored, claudeSettings)
	}

	d.cli(0, "clients", "connect", "claude-code", "--yes")
	cmd := command(t, append(d.env(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "CI=true"), program, "mcp", "list")
	cmd.Dir = d.home
	list := run(t, cmd, 0)
	if !regexp.MustCompile(`(?m)^drawbridge: .*Connected`).MatchString(list) {
		t.Fatalf("claude mcp list says\n%s", list)
	}
	t.Log(list)
}
