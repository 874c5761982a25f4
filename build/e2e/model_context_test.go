//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// listeningModel stands in for the model behind a client. It keeps the largest request, and refuses all.
type listeningModel struct {
	mu   sync.Mutex
	seen []byte
}

func (m *listeningModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	m.mu.Lock()
	if len(body) > len(m.seen) {
		m.seen = body
	}
	m.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprint(w, `{"type":"error","error":{"type":"invalid_request_error","code":400,"status":"INVALID_ARGUMENT","message":"stand-in"}}`)
}

// modelContext is what a client has sent to its model: the descriptions by name of a tool, and all texts.
type modelContext struct {
	tools map[string]string
	texts string
}

func (c *modelContext) add(v any) {
	switch v := v.(type) {
	case string:
		c.texts += v + "\n"
	case []any:
		for _, one := range v {
			c.add(one)
		}
	case map[string]any:
		if name, ok := v["name"].(string); ok && strings.Contains(name, "long") {
			if description, ok := v["description"].(string); ok {
				c.tools[name] = description
			}
		}
		for _, one := range v {
			c.add(one)
		}
	}
}

// talkativeServer is a server with long instructions and three tools with long descriptions. Each text ends
// with a mark.
func talkativeServer(t *testing.T, n int) object {
	script := filepath.Join(t.TempDir(), "server.js")
	put(t, script, `
const n = process.argv[2], text = (size, end) => 'A sentence about it. '.repeat(size / 21) + end
const tools = [1500, 5000, 20000].map((size) => ({ name: 'long' + size, description: text(size, 'END-' + size + '.'), inputSchema: { type: 'object', properties: { a: { type: 'string', description: 'An argument.' } } } }))
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const m = JSON.parse(line), answer = { initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's' + n, version: '1' }, instructions: text(1000, 'END-INSTRUCTIONS-' + n + '.') }, 'tools/list': { tools }, ping: {} }[m.method]
  if (m.id === undefined) return
  console.log(JSON.stringify(answer ? { jsonrpc: '2.0', id: m.id, result: answer } : { jsonrpc: '2.0', id: m.id, error: { code: -32601, message: 'no' } }))
})`)
	return object{"command": node, "args": []string{script, fmt.Sprint(n)}}
}

// Four real clients, with a stand-in for their model. As a client of which nothing is known ("before"),
// each gets the texts as the servers sent them; under its own name, nothing that it sends is cut or left
// out without a word: a text is whole, or says how to read the rest.
func TestRealClientsSendTheirModelNoTextThatWasCutSilently(t *testing.T) {
	t.Parallel()
	servers := object{}
	for n := range 6 {
		servers[fmt.Sprintf("talk%d", n)] = talkativeServer(t, n)
	}
	d := start(t, object{"mcpServers": servers})
	d.running("talk0", "talk1", "talk2", "talk3", "talk4", "talk5")
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	codexArch := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
	opencode := abs("node_modules/opencode-" + runtime.GOOS + "-" + arch + "-baseline/bin/opencode")
	mcp := d.url + "/mcp"
	for _, c := range []struct {
		id      string
		program []string
		prepare func(home, model, token string) (env []string)
	}{
		{"claude-code", []string{claudeCodeBinary(t), "-p", "hi", "--mcp-config", "mcp.json", "--strict-mcp-config"}, func(home, model, token string) []string {
			settings(t, filepath.Join(home, "mcp.json"), object{"mcpServers": object{"drawbridge": object{"type": "http", "url": mcp, "headers": object{"Authorization": "Bearer " + token}}}})
			return []string{"ANTHROPIC_BASE_URL=" + model, "ANTHROPIC_API_KEY=sk-ant-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "ENABLE_TOOL_SEARCH=false"}
		}},
		{"codex", []string{abs("node_modules/@openai/codex-" + runtime.GOOS + "-" + arch + "/vendor/" + codexArch + "-unknown-linux-musl/bin/codex"), "exec", "--skip-git-repo-check", "hi"}, func(home, model, token string) []string {
			put(t, filepath.Join(home, ".codex/config.toml"), "model = \"gpt-5\"\nmodel_provider = \"standin\"\n\n[model_providers.standin]\nname = \"Stand-in\"\nbase_url = \""+model+"/v1\"\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\n[mcp_servers.drawbridge]\nurl = \""+mcp+"\"\nbearer_token_env_var = \"BRIDGE_TOKEN\"\n")
			return []string{"OPENAI_API_KEY=x", "BRIDGE_TOKEN=" + token}
		}},
		{"gemini-cli", []string{node, abs("node_modules/@google/gemini-cli/bundle/gemini.js"), "-p", "hi"}, func(home, model, token string) []string {
			settings(t, filepath.Join(home, ".gemini/settings.json"), object{"security": object{"auth": object{"selectedType": "gemini-api-key"}}, "mcpServers": object{"drawbridge": object{"url": mcp, "type": "http", "trust": true, "headers": object{"Authorization": "Bearer " + token}}}})
			put(t, filepath.Join(home, ".gemini/trustedFolders.json"), `{"`+home+`": "TRUST_FOLDER"}`)
			return []string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=" + model}
		}},
		{"opencode", []string{opencode, "run", "-m", "standin/m", "hi"}, func(home, model, token string) []string {
			settings(t, filepath.Join(home, ".config/opencode/opencode.json"), object{
				"provider": object{"standin": object{"npm": "@ai-sdk/openai-compatible", "options": object{"baseURL": model + "/v1", "apiKey": "x"}, "models": object{"m": object{"name": "m"}}}},
				"mcp":      object{"drawbridge": object{"type": "remote", "url": mcp, "enabled": true, "headers": object{"Authorization": "Bearer " + token}}}})
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"}
		}},
	} {
		for _, name := range []string{"before-" + c.id, c.id} {
			t.Run(name, func(t *testing.T) {
				if _, err := os.Stat(c.program[0]); err != nil {
					t.Skipf("not there for this system: %v", err)
				}
				got := sentToModel(t, c.program, func(home, model string) []string { return c.prepare(home, model, d.token(name)) })
				require.NotNil(t, got, "the client has sent nothing to its model")
				whole, told, silent := 0, 0, 0
				for tool, description := range got.tools {
					switch {
					case strings.Contains(description, "END-"):
						whole++
					case strings.Contains(description, "drawbridge__read_more"):
						told++
					default:
						silent++
						t.Logf("%s has %d characters", tool, len(description))
					}
				}
				instructions, cut := 0, !strings.Contains(got.texts, "drawbridge__read_more")
				for n := range 6 {
					if strings.Contains(got.texts, fmt.Sprintf("END-INSTRUCTIONS-%d.", n)) {
						instructions++
					}
				}
				t.Logf("%d tools: %d descriptions whole, %d shortened with a hint, %d cut silently; %d of 6 instructions whole", len(got.tools), whole, told, silent, instructions)
				assert.False(t, name == c.id && (silent > 0 || strings.Contains(got.texts, "# talk0") && instructions < 6 && cut), "something was cut silently")
			})
		}
	}
}

// sentToModel runs a client in a home of its own and returns its largest request; nil if there was none.
func sentToModel(t *testing.T, program []string, prepare func(home, model string) []string) *modelContext {
	t.Helper()
	m := &listeningModel{}
	server := httptest.NewServer(m)
	defer server.Close()
	home, env := isolatedHome(t)
	env = append(env, prepare(home, server.URL)...)
	ctx, cancel := context.WithTimeout(t.Context(), limit(60*time.Second))
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Dir, cmd.Env = home, env
	out, _ := cmd.CombinedOutput() // it fails, because its model does
	m.mu.Lock()
	defer m.mu.Unlock()
	var v any
	if json.Unmarshal(m.seen, &v) != nil {
		t.Logf("%s", tail(string(out)))
		return nil
	}
	c := &modelContext{tools: map[string]string{}}
	c.add(v)
	return c
}

// The answers of find_tools about published servers have at most 0.35 of the bytes of the definitions of
// the same tools, which they were before.
func TestFoundToolsNeedAThirdOfTheirDefinitions(t *testing.T) {
	t.Parallel()
	config, _ := realServers(t)
	config["clients"] = object{"finder": object{"toolMode": "search"}}
	d := start(t, config)
	d.running("files", "every", "memory", "thinking")
	var questions, definitions []toolCall
	for _, q := range []string{"read a file", "write text to a file", "list a folder", "find files by name", "move a file", "what changed in a file", "remember a person", "search what I know",
		"connect two entities", "delete an observation", "think step by step", "add two numbers", "show an image", "a long running task", "environment variables", "several files at once"} {
		questions = append(questions, toolCall{"find_tools", object{"query": q}})
	}
	answers := drive(t, "legacy", d.url+"/mcp", d.token("finder"), "finder", questions...).Results
	short := 0
	for _, answer := range answers {
		short += len(answer.Content[0].Text)
		var names []string
		for line := range strings.Lines(answer.Content[0].Text) {
			name, _, _ := strings.Cut(line, "(")
			names = append(names, name)
		}
		definitions = append(definitions, toolCall{"find_tools", object{"names": names}})
	}
	whole := 0
	for _, answer := range drive(t, "legacy", d.url+"/mcp", d.token("finder"), "finder", definitions...).Results {
		whole += len(answer.Content[0].Text)
	}
	t.Logf("%d bytes instead of %d: %.3f", short, whole, float64(short)/float64(whole))
	assert.True(t, short*100 <= whole*35, "the answers are too large")
}
