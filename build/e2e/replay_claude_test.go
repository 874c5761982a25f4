//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scriptedModel replaces the model behind Claude Code: it speaks the streaming Messages API, and
// calls the same tools in every conversation.
type scriptedModel struct {
	calls []toolCall

	mu      sync.Mutex
	results []string // of the tools, as Claude Code sent them to the model
	tools   []string // the definitions of the tools of Drawbridge, in the same way
}

func (m *scriptedModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"input_tokens":1}`)
		return
	}
	var ask struct {
		Stream   bool
		Tools    []json.RawMessage
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	block, reason := object{"type": "text", "text": "done"}, "end_turn"
	var tools []string
	for _, one := range ask.Tools {
		var t struct{ Name string }
		if _ = json.Unmarshal(one, &t); strings.HasPrefix(t.Name, "mcp__drawbridge__") {
			tools = append(tools, string(one))
		}
	}
	if len(tools) > 0 {
		var results []string
		for _, one := range ask.Messages {
			var blocks []struct {
				Type    string
				Content json.RawMessage
				IsError bool `json:"is_error"`
			}
			_ = json.Unmarshal(one.Content, &blocks)
			for _, b := range blocks {
				if b.Type == "tool_result" {
					results = append(results, fmt.Sprint(b.IsError, string(b.Content)))
				}
			}
		}
		m.mu.Lock()
		m.results, m.tools = results, tools
		m.mu.Unlock()
		if n := len(results); n < len(m.calls) {
			block, reason = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": "mcp__drawbridge__" + m.calls[n].Name, "input": m.calls[n].Arguments}, "tool_use"
		}
	}
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 1, "output_tokens": 1}}
	if !ask.Stream {
		message["content"], message["stop_reason"] = []object{block}, reason
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, data object) {
		data["type"] = event
		raw, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, raw)
	}
	send("message_start", object{"message": message})
	if block["type"] == "tool_use" {
		input, _ := json.Marshal(block["input"])
		send("content_block_start", object{"index": 0, "content_block": object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}})
		send("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(input)}})
	} else {
		send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": block["text"]}})
	}
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	send("message_stop", object{})
}

// A session of a real Claude Code with the servers filesystem and memory is recorded, and served
// from the history after the servers were removed: the same run gets the same results. A cassette
// of it works for the program alone, in an empty root folder; and it can be saved as a check.
func TestClaudeCodeGetsTheSameResultsFromHistory(t *testing.T) {
	t.Parallel()
	program := claudeCodeBinary(t)
	config, files := realServers(t)
	servers := config["mcpServers"].(object)
	d := start(t, object{"mcpServers": object{"files": servers["files"], "memory": servers["memory"]}})
	d.running("files", "memory")
	hello := filepath.Join(files, "hello.txt")
	entity := object{"name": "Ann", "entityType": "person", "observations": []string{"likes tea"}}
	calls := []toolCall{
		{"files__read_text_file", object{"path": hello}},
		{"memory__read_graph", object{}},
		{"memory__create_entities", object{"entities": []object{entity}}},
		{"memory__read_graph", object{}},
		{"files__read_text_file", object{"path": filepath.Join(files, "missing.txt")}},
		{"files__write_file", object{"path": filepath.Join(files, "new.txt"), "content": "new"}},
		{"files__get_file_info", object{"path": hello}},
	}
	token := d.token("claude-code")
	converse := func() (results, tools []string) {
		t.Helper()
		m := &scriptedModel{calls: calls}
		server := httptest.NewServer(m)
		defer server.Close()
		mcp := filepath.Join(t.TempDir(), "mcp.json")
		settings(t, mcp, object{"mcpServers": object{"drawbridge": object{"type": "http", "url": d.url + "/mcp", "headers": object{"Authorization": "Bearer " + token}}}})
		var allowed []string
		for _, c := range calls {
			allowed = append(allowed, "mcp__drawbridge__"+c.Name)
		}
		home, env := isolatedHome(t)
		env = append(env, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=sk-ant-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "ENABLE_TOOL_SEARCH=false")
		inHome(t, home, env, program, "-p", "Look after Ann.", "--mcp-config", mcp, "--strict-mcp-config", "--allowedTools", strings.Join(allowed, ","), "--output-format", "text")
		slices.Sort(m.tools)
		return m.results, m.tools
	}
	recorded, listed := converse()
	require.Len(t, recorded, len(calls), "Claude Code")
	require.Contains(t, recorded[0], "hello from a real file", "Claude Code")
	var sessions struct {
		Items []struct {
			Session string
			Calls   int
		}
	}
	if d.get("/api/v1/sessions", &sessions); len(sessions.Items) != 1 || sessions.Items[0].Calls != len(calls) {
		t.Fatalf("the run of Claude Code is listed as %+v", sessions.Items)
	}
	session := sessions.Items[0].Session
	cassette := filepath.Join(t.TempDir(), "calls.jsonl")
	d.cli(0, "replay", "export", "memory", cassette, "--session", session)
	assert.Equal(t, "7 steps saved\n", d.cli(0, "check", "save", "ann", "--session", session))
	d.cli(0, "check", "run", "--all", "--junit", filepath.Join(t.TempDir(), "results.xml"))

	from := func(server string) object {
		return object{"type": "replay", "namespace": server, "from": object{"server": server, "session": session}}
	}
	require.NoError(t, os.RemoveAll(files))
	d.write("config.jsonc", object{"mcpServers": object{"old-files": from("files"), "old-memory": from("memory")}})
	d.running("old-files", "old-memory")
	served, tools := converse()
	assert.Equal(t, served, recorded)
	assert.Truef(t, len(tools) >= 20 && slices.Equal(listed, tools), "listed %q\nserved %q", listed, tools)
	_, err := os.Stat(files)
	assert.Error(t, err, "a replayed call has changed the disk")

	// In an empty root folder with nothing but the program and the cassette.
	if os.Getuid() != 0 {
		return
	}
	empty := t.TempDir()
	for to, from := range map[string]string{"drawbridge": binary, "calls.jsonl": cassette} {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(empty, to), content, 0o700)
		}
		require.NoError(t, err)
	}
	alone := command(t, []string{"PATH=/"}, "/drawbridge", "replay", "/calls.jsonl")
	alone.Dir, alone.SysProcAttr = "/", &syscall.SysProcAttr{Chroot: empty}
	arguments, _ := json.Marshal(calls[2].Arguments)
	alone.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_entities","arguments":` + string(arguments) + "}}\n")
	out := run(t, alone, 0)
	assert.True(t, strings.Contains(out, `"result":{`) && strings.Contains(out, "likes tea"), out)
}
