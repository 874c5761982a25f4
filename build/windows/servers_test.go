//go:build windows && e2e

package windows

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows/registry"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// nodeServer is an MCP server with one tool, which returns the arguments of the program and its folder.
const nodeServer = `#!/usr/bin/env node
require('readline').createInterface({input: process.stdin}).on('line', line => {
  const {id, method, params} = JSON.parse(line)
  const answer = {
    initialize: () => ({protocolVersion: params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: 'args', version: '1'}}),
    'tools/list': () => ({tools: [{name: 'args', inputSchema: {type: 'object'}}]}),
    'tools/call': () => ({content: [{type: 'text', text: JSON.stringify({args: process.argv.slice(2), folder: process.cwd()})}]}),
  }[method]
  if (id !== undefined) console.log(JSON.stringify(answer ? {jsonrpc: '2.0', id, result: answer()} : {jsonrpc: '2.0', id, error: {code: -32601, message: method}}))
})
`

// npm has no network under Wine, so npx runs a package that is installed in the folder of the server.
func TestNpxStartsServersWithAnyArgument(t *testing.T) {
	node := os.Getenv("DRAWBRIDGE_NODE")
	require.NotEmpty(t, node, "DRAWBRIDGE_NODE does not name a folder with Node.js for Windows")
	m := newMachine(t)
	m.path = node
	project := filepath.Join(m.home, "Projekt für Ω")
	bin := filepath.Join(project, "node_modules", "args-server")
	err := errors.Join(os.MkdirAll(bin, 0o700), os.WriteFile(filepath.Join(bin, "main.js"), []byte(nodeServer), 0o600),
		os.WriteFile(filepath.Join(bin, "package.json"), []byte(`{"name": "args-server", "version": "1.0.0", "bin": "main.js"}`), 0o600),
		os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"dependencies": {"args-server": "1.0.0"}}`), 0o600),
		os.MkdirAll(filepath.Join(project, "node_modules", ".bin"), 0o700),
		os.WriteFile(filepath.Join(project, "node_modules", ".bin", "args-server.cmd"), []byte("@node \"%~dp0..\\args-server\\main.js\" %*\r\n"), 0o600))
	require.NoError(t, err)
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Cwd     string   `json:"cwd"`
	}
	servers := map[string]server{
		"npx":     {"npx", []string{"--offline", "-y", "args-server"}, project},
		"npx-cmd": {"npx.cmd", []string{"--offline", "-y", "args-server"}, project},
		"cmd":     {"cmd", []string{"/c", "npx", "--offline", "-y", "args-server"}, project},
		"node":    {"node", []string{filepath.Join(bin, "main.js")}, project},
	}
	given := []string{`C:\Users\Jörg Müller\`, "a&b", "a|b", "{\"a\": 1}"}
	for name, s := range servers {
		s.Args = append(s.Args, given...)
		servers[name] = s
	}
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	require.NoError(t, err)
	m.addConfig(string(text))
	m.serve()
	for name := range servers {
		code, out := m.run("", "call", name, "args", "{}", "--json")
		var answer struct{ Output string }
		var got struct {
			Args   []string `json:"args"`
			Folder string   `json:"folder"`
		}
		err := errors.Join(json.Unmarshal([]byte(out), &answer), json.Unmarshal([]byte(answer.Output), &got))
		assert.Truef(t, err == nil && slices.Equal(got.Args, given) && got.Folder == project, "%s: exit code %d, %v\n%s", name, code, err, out)
	}
}

// An installer that changes the PATH in the registry needs no restart of Drawbridge.
func TestProgramIsFoundOnceItIsInThePath(t *testing.T) {
	m := newMachine(t)
	m.serve()
	dir := filepath.Join(m.home, "new tools")
	src, err := os.ReadFile(m.program("drawbridge.exe"))
	require.NoError(t, errors.Join(err, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "newtool.exe"), src, 0o700)))
	code, out := m.run("", "add", "new", "--", "newtool", "demo-server")
	require.Truef(t, code != 0 && strings.Contains(out, "newtool"), "exit code %d\n%s", code, out)
	key, err := registry.OpenKey(registry.CURRENT_USER, "Environment", registry.SET_VALUE)
	require.NoError(t, err)
	defer key.Close()
	defer func() { _ = key.DeleteValue("Path") }()
	require.NoError(t, key.SetStringValue("Path", dir))
	eventually.TrueWithin(t, 30*time.Second, "the program is found", func() bool {
		_, _ = m.run("", "restart", "new")
		code, _ := m.run("", "call", "new", "echo", `{"text":"x"}`)
		return code == 0
	})
}
