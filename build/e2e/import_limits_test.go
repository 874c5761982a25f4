//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// limitedClients are clients with a server named db that may only be asked to echo. FILE is written in the
// home; COMMAND is the program of the server.
var limitedClients = []struct{ id, file, text string }{
	{"codex", ".codex/config.toml", "# mine\n[mcp_servers.db]\ncommand = \"COMMAND\" # here\nargs = [\"demo-server\"]\nenv = { KEY = \"MODE\" }\nenabled_tools = [\"echo\"]\n"},
	{"gemini-cli", ".gemini/settings.json", "{\n  // mine\n  \"mcpServers\": {\"db\": {\"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"includeTools\": [\"echo\"]}}\n}\n"},
	{"qwen-code", ".qwen/settings.json", "{\"mcpServers\": {\"db\": {\"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"includeTools\": [\"echo\"]}}}"},
	{"kimi-code", ".kimi-code/mcp.json", "{\"mcpServers\": {\"db\": {\"transport\": \"stdio\", \"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"enabledTools\": [\"echo\"]}}}\n"},
	{"copilot-cli", ".copilot/mcp-config.json", "{\r\n  \"mcpServers\": {\r\n    \"db\": {\"type\": \"local\", \"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"tools\": [\"echo\"]}\r\n  }\r\n}\r\n"},
	{"goose", ".config/goose/config.yaml", "GOOSE_MODE: auto # mine\nextensions:\n  db:\n    type: stdio\n    enabled: true\n    name: db\n    cmd: COMMAND\n    args:\n      - demo-server\n    envs:\n      KEY: MODE\n    available_tools:\n      - echo\n"},
	{"amp", ".config/amp/settings.json", "{\n  \"amp.mcpServers\": {\"db\": {\"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"includeTools\": [\"ec*\"]}},\n}\n"},
	{"crush", ".config/crush/crush.json", "{\"mcp\": {\"db\": {\"type\": \"stdio\", \"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"enabled_tools\": [\"echo\"]}}}\n"},
	{"hermes", ".hermes/config.yaml", "mcp_servers:\n  db:\n    command: COMMAND\n    args:\n      - demo-server\n    env:\n      KEY: MODE\n    tools:\n      include:\n        - \"ech*\"\n"},
	{"windsurf", ".codeium/windsurf/mcp_config.json", "{\"mcpServers\": {\"db\": {\"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"disabledTools\": [DENIED]}}}\n"},
	{"kiro", ".kiro/settings/mcp.json", "{\"mcpServers\": {\"db\": {\"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"disabledTools\": [DENIED]}}}\n"},
	{"antigravity", ".gemini/config/mcp_config.json", "{\"mcpServers\": {\"db\": {\"command\": \"COMMAND\", \"args\": [\"demo-server\"], \"env\": {\"KEY\": \"MODE\"}, \"disabledTools\": [DENIED]}}}\n"},
}

// TestLimitsOfClientsHoldForEveryClient imports and moves the servers of clients that limit their tools. Every
// other client is limited in the same way, and undo restores the files byte for byte.
func TestLimitsOfClientsHoldForEveryClient(t *testing.T) {
	t.Parallel()
	all := openEndpoint(t, start(t, object{"mcpServers": object{"db": object{"command": binary, "args": []string{"demo-server"}}}}))
	var denied []string
	for _, tool := range all.tools("db__") {
		if tool != "echo" {
			denied = append(denied, fmt.Sprintf("%q", tool))
		}
	}
	require.NotEmpty(t, denied, "the server has no other tool")
	for _, c := range limitedClients {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			d := start(t, object{"mcpServers": object{}})
			path := filepath.Join(d.home, filepath.FromSlash(c.file))
			text := strings.NewReplacer("COMMAND", binary, "KEY", "REGION", "MODE", "eu", "DENIED", strings.Join(denied, ", ")).Replace(c.text)
			put(t, path, text)
			for _, way := range [][]string{{"import"}, {"move"}, {"move", "--single-entry"}} {
				d.cli(0, append(append([]string{"clients"}, way...), c.id, "--yes")...)
				other := openEndpoint(t, d)
				tools := other.tools("db__")
				assert.Truef(t, len(tools) == 1 && tools[0] == "echo", "%v: another client is offered %v", way, tools)
				assert.Contains(t, other.call("db__"+strings.Trim(denied[0], `"`)), "there is no tool named", way)
				d.cli(0, "clients", "undo", "--all", "--yes")
				assert.Equal(t, text, take(t, path), way)
			}
		})
	}
}

// endpoint is the shared endpoint of a daemon, used by a client that no file mentions.
type endpoint struct{ *rawClient }

func openEndpoint(t testing.TB, d *daemon) endpoint {
	t.Helper()
	d.running("db")
	return endpoint{&rawClient{t: t, url: d.url + "/mcp", token: d.token("another"), modern: true}}
}

// tools returns the tools with a prefix, without it.
func (e endpoint) tools(prefix string) (names []string) {
	e.t.Helper()
	var reply struct {
		Result struct{ Tools []struct{ Name string } }
	}
	body := e.post("tools/list", "", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+modernMeta+`}}`)
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		e.t.Fatalf("%v in %s", err, tail(body))
	}
	for _, tool := range reply.Result.Tools {
		if name, ok := strings.CutPrefix(tool.Name, prefix); ok {
			names = append(names, name)
		}
	}
	return names
}

// call calls a tool and returns the response, whatever its status.
func (e endpoint) call(tool string) string {
	e.t.Helper()
	body := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},` + modernMeta + `}}`
	resp, err := http.DefaultClient.Do(e.request(e.t.Context(), "POST", "tools/call", tool, body))
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return string(reply)
}
