package clientconf

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPastedBlocksAreAcceptedInEveryShape pastes blocks as READMEs show them.
func TestPastedBlocksAreAcceptedInEveryShape(t *testing.T) {
	for shape, c := range map[string]struct{ text, name, label, entry string }{
		"mcpServers":            {text: `{"mcpServers":{"files":{"command":"npx","args":["-y","x"],"env":{"A":"${A}"}}}}`, label: "files", entry: `{"command":"npx","args":["-y","x"],"env":{"A":"${A}"}}`},
		"without outer braces":  {text: `"mcpServers": {"files": {"command": "npx"}},`, label: "files", entry: `{"command":"npx"}`},
		"a map of servers":      {text: `{"files":{"command":"npx"}}`, label: "files", entry: `{"command":"npx"}`},
		"an entry with a name":  {text: `{"command":"npx","args":["x"]}`, name: "mine", label: "mine", entry: `{"command":"npx","args":["x"]}`},
		"a block with a name":   {text: `{"mcpServers":{"files":{"command":"npx"}}}`, name: "mine", label: "mine", entry: `{"command":"npx"}`},
		"comments":              {text: "// for Cursor\n{\"mcpServers\": {\"files\": {\"command\": \"npx\",},},}", label: "files", entry: `{"command":"npx"}`},
		"VS Code":               {text: `{"servers":{"docs":{"type":"http","url":"https://example.com/mcp"}}}`, label: "docs", entry: `{"type":"http","url":"https://example.com/mcp"}`},
		"VS Code settings.json": {text: `{"mcp":{"servers":{"files":{"command":"npx"}}}}`, label: "files", entry: `{"command":"npx"}`},
		"opencode":              {text: `{"mcp":{"files":{"type":"local","command":["npx","x"],"enabled":true}}}`, label: "files", entry: `{"command":"npx","args":["x"]}`},
		"Zed":                   {text: `{"context_servers":{"files":{"command":"npx","args":[],"timeout":60}}}`, label: "files", entry: `{"command":"npx","requestTimeoutMs":60000}`},
		"Codex":                 {text: "[mcp_servers.files]\ncommand = \"npx\"\nargs = [\"x\"]\n", label: "files", entry: `{"command":"npx","args":["x"]}`},
		"Goose":                 {text: "extensions:\n  files:\n    type: stdio\n    cmd: npx\n    args: [x]\n    envs: {A: b}\n", label: "files", entry: `{"command":"npx","args":["x"],"env":{"A":"b"}}`},
		"our own words":         {text: `{"mcpServers":{"db":{"type":"docker","container":"pg","command":"tool","approval":"ask"}}}`, label: "db", entry: `{"approval":"ask","command":"tool","container":"pg","type":"docker"}`},
		"a command line":        {text: `{"mcpServers":{"files":{"command":"npx -y x","args":["z"]}}}`, label: "files", entry: `{"command":"npx","args":["-y","x","z"]}`},
		"Zed, earlier":          {text: `{"context_servers":{"files":{"command":{"path":"npx","args":["x"],"env":null}}}}`, label: "files", entry: `{"command":"npx","args":["x"]}`},
		"an SDK's headers":      {text: `{"mcpServers":{"docs":{"type":"SSE","url":"https://example.com/sse","eventSourceInit":{"headers":{"A":"b"}}}}}`, label: "docs", entry: `{"type":"sse","url":"https://example.com/sse","headers":{"A":"b"}}`},
		"Copilot":               {text: `{"mcpServers":{"files":{"type":"local","command":"npx","tools":["*"],"cwd":null,"colour":null}}}`, label: "files", entry: `{"command":"npx"}`},
		"Windsurf":              {text: `{"mcpServers":{"docs":{"serverUrl":"https://example.com/mcp"}}}`, label: "docs", entry: `{"type":"http","url":"https://example.com/mcp"}`},
	} {
		t.Run(shape, func(t *testing.T) {
			all, err := ReadPasted(c.text)
			if c.name != "" && err == nil {
				var p *PastedServers
				if p, err = (&Connector{}).ParsePasted(c.text, c.name); err == nil {
					all = p.Servers
				}
			}
			require.Truef(t, err == nil && len(all) == 1 && all[0].Label == c.label && string(all[0].Entry) == c.entry, "%v, %+v", err, all)
		})
	}
	for text, says := range map[string]string{
		`{"a":1}`: "no servers", `{"a":`: "cannot read", ``: "no servers", `Hello there, world`: "cannot read", strings.Repeat(" ", maxPasted+1): "too long",
	} {
		if _, err := ReadPasted(text); core.CodeOf(err) != core.CodeValidation || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", core.Shorten(text, 60), err, says)
		}
	}
}

// Keys that our configuration has survive beside keys that it does not have.
func TestPastedLimitsAndOwnKeysAreNotLost(t *testing.T) {
	for text, want := range map[string]string{
		`{"command":"x","excludeTools":["drop"],"autoApprove":["x"]}`:                      `{"command":"x","excludeTools":["drop"]}`,
		`{"command":"x","disabledTools":["drop"]}`:                                         `{"command":"x","excludeTools":["drop"]}`,
		`{"command":"x","disabledTools":["drop"],"approval":"ask","session":"perSession"}`: `{"approval":"ask","command":"x","excludeTools":["drop"],"session":"perSession"}`,
		`{"serverUrl":"https://x/mcp","approval":"ask","colour":1}`:                        `{"approval":"ask","type":"http","url":"https://x/mcp"}`,
		`{"container":"pg","command":"tool","colour":1,"disabledTools":["drop"]}`:          `{"command":"tool","container":"pg","excludeTools":["drop"]}`,
		`{"type":"docker","docker":{"image":"i"},"colour":1}`:                              `{"docker":{"image":"i"},"type":"docker"}`,
		`{"command":"x","tools":{"a":{"rename":"b"}},"colour":1}`:                          `{"command":"x","tools":{"a":{"rename":"b"}}}`,
		`{"command":"x","env":{"A":"${secret:a}","B":"$${B}","C":"${C:-d}"}}`:              `{"command":"x","env":{"A":"${secret:a}","B":"$${B}","C":"${C:-d}"}}`,
		`{"command":"x","sandbox":"on","colour":1}`:                                        `{"command":"x","sandbox":"on"}`,
		`{"command":"x","sandbox":{"filesystem":{"denyRead":["/a"]}}}`:                     `{"command":"x","disabled":true}`,
		`{"command":"x","envFile":"/etc/hostname"}`:                                        `{"command":"x","disabled":true}`,
	} {
		all, err := ReadPasted(`{"mcpServers":{"a":` + text + `}}`)
		if err != nil || len(all) != 1 || !sameJSON(all[0].Entry, json.RawMessage(want)) || strings.Contains(text, "colour") && !strings.Contains(strings.Join(all[0].Notes, ""), `"colour" is not copied`) {
			t.Errorf("%s: %v, %+v\nwant %s", text, err, all, want)
		}
	}
}

func TestServerCanBeAddedUnderTwoNames(t *testing.T) {
	c, _, _, path := newImporter(t)
	for _, name := range []string{"one", "two", "a/b", "one"} {
		p, err := c.PrepareServer(NewServer{Name: name, Command: "mcp-everything"})
		require.NoError(t, err)
		require.NoError(t, p.Write(t.Context()))
	}
	p, err := c.ParsePasted(`{"mcpServers":{"three":{"command":"mcp-everything"}}}`, "")
	require.NoError(t, err)
	require.NoError(t, p.Write(t.Context()))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	got := strings.Count(string(text), "mcp-everything")
	assert.Truef(t, got == 4 && strings.Contains(string(text), `"a/b"`), "%d servers\n%s", got, text)
}

func TestSecretsOfAddedServersAreStored(t *testing.T) {
	c, vault, _, path := newImporter(t)
	p, err := c.PrepareServer(NewServer{
		Name: "dock", Command: "docker", Args: []string{"run", "-e", "API_KEY=sk-live-0123456789", "mcp/time"},
		Env: map[string]string{"REGION": "eu"}, Secrets: map[string]string{"PLAIN": "word"},
	})
	require.NoError(t, err)
	entry := string(p.Servers[0].Entry)
	if strings.Contains(entry, "sk-live") || strings.Contains(entry, `"word"`) || !strings.Contains(entry, `"REGION":"eu"`) || len(p.Secrets()) != 2 {
		t.Fatalf("%s, %v", entry, p.Secrets())
	}
	require.NoError(t, p.Write(t.Context()))
	text, err := os.ReadFile(path)
	assert.Truef(t, err == nil && !strings.Contains(string(text), "sk-live") && strings.Contains(string(text), "${secret:dock.PLAIN}"), "%v\n%s", err, text)
	value, err := vault.Get(context.Background(), "dock.PLAIN")
	assert.Truef(t, value == "word" && err == nil, "stored %q, %v", value, err)
	taken, _ := errors.AsType[*core.Error](func() error { _, err := c.PrepareServer(NewServer{Name: "dock", Command: "other"}); return err }())
	if taken == nil || taken.Code != core.CodeConflict || !strings.HasSuffix(taken.Hint, "drawbridge remove dock") {
		t.Errorf("a name that is taken: %+v", taken)
	}
	again, err := c.ParsePasted(`{"mcpServers":{"files":{"url":"https://u:pw12345@example.com/mcp","headers":{"Authorization":"Bearer abcdefgh"}}}}`, "")
	assert.Truef(t, err == nil && len(again.Secrets()) == 2, "%v, %+v", err, again)
	var valid map[string]any
	assert.NoError(t, json.Unmarshal([]byte(entry), &valid))
}
