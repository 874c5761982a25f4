//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

func init() { roles["tools500"] = serve500 }

// serve500 is a server with the 500 tools of the ranking tests. It responds with the arguments of
// the call.
func serve500() {
	src, err := os.ReadFile(os.Getenv("TOOLS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var tools []json.RawMessage
	for line := range strings.Lines(string(src)) {
		var one struct {
			Server string
			Tool   map[string]any
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			panic(err)
		}
		one.Tool["name"] = one.Server + "-" + one.Tool["name"].(string)
		raw, _ := json.Marshal(one.Tool)
		tools = append(tools, raw)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 16<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments json.RawMessage
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := object{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case "initialize":
			answer["result"] = object{"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "many", "version": "1"}}
		case "tools/list":
			answer["result"] = object{"tools": tools}
		case "tools/call":
			answer["result"] = object{"content": []object{{"type": "text", "text": "did " + m.Params.Name + " with " + string(m.Params.Arguments)}}}
		case "ping":
			answer["result"] = object{}
		default:
			answer["error"] = object{"code": -32601, "message": "no such method"}
		}
		_ = out.Encode(answer)
	}
}

func many() object {
	return object{"command": os.Args[0], "env": object{"DRAWBRIDGE_E2E_ROLE": "tools500", "TOOLS": filepath.Join(root, "backend/registry/testdata/tools500.jsonl")}}
}

// standIn replaces the model behind Claude Code: it speaks the streaming Messages API, searches a
// tool, calls it, and reports the result.
type standIn struct {
	mu    sync.Mutex
	asked []string // tools of the requests that offered any
	found string   // result of find_tools
	did   string   // result of call_tool
}

func (m *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"input_tokens":1}`)
		return
	}
	var ask struct {
		Stream   bool
		Tools    []struct{ Name string }
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	block := m.next(ask.Tools, ask.Messages)
	reason := "end_turn"
	if block["type"] == "tool_use" {
		reason = "tool_use"
	}
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "content": []object{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": 1, "output_tokens": 1}}
	if !ask.Stream {
		message["content"], message["stop_reason"] = []object{block}, reason
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	say := func(event string, data object) {
		data["type"] = event
		raw, _ := json.Marshal(data)
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, raw)
	}
	say("message_start", object{"message": message})
	if block["type"] == "tool_use" {
		input, _ := json.Marshal(block["input"])
		say("content_block_start", object{"index": 0, "content_block": object{"type": "tool_use", "id": block["id"], "name": block["name"], "input": object{}}})
		say("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": string(input)}})
	} else {
		say("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		say("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": block["text"]}})
	}
	say("content_block_stop", object{"index": 0})
	say("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	say("message_stop", object{})
}

var refund = regexp.MustCompile(`"name":"([^"]*refund[^"]*)"`)

// next returns the model's next message.
func (m *standIn) next(tools []struct{ Name string }, messages []struct{ Content json.RawMessage }) object {
	m.mu.Lock()
	defer m.mu.Unlock()
	find, call := "", ""
	for _, t := range tools {
		if strings.HasSuffix(t.Name, "find_tools") {
			find = t.Name
		}
		if strings.HasSuffix(t.Name, "call_tool") {
			call = t.Name
		}
	}
	if find == "" || call == "" {
		return object{"type": "text", "text": "ok"} // a request for a title or a summary, not our conversation
	}
	m.asked = nil
	for _, t := range tools {
		m.asked = append(m.asked, t.Name)
	}
	var results []string
	for _, one := range messages {
		var blocks []struct {
			Type    string
			Content json.RawMessage
		}
		_ = json.Unmarshal(one.Content, &blocks)
		for _, b := range blocks {
			if b.Type != "tool_result" {
				continue
			}
			var text string
			var parts []struct{ Text string }
			if json.Unmarshal(b.Content, &text) != nil && json.Unmarshal(b.Content, &parts) == nil {
				for _, p := range parts {
					text += p.Text
				}
			}
			results = append(results, text)
		}
	}
	switch len(results) {
	case 0:
		return object{"type": "tool_use", "id": "toolu_1", "name": find, "input": object{"query": "refund a payment of a customer"}}
	case 1:
		m.found = results[0]
		name := "nothing"
		if hit := refund.FindStringSubmatch(results[0]); hit != nil {
			name = hit[1]
		}
		return object{"type": "tool_use", "id": "toolu_2", "name": call, "input": object{"name": name, "arguments": object{"payment_id": "pay_42"}}}
	}
	m.did = results[len(results)-1]
	return object{"type": "text", "text": "It is done: " + m.did}
}

// A real Claude Code with 500 tools behind two finds the tool that it needs and calls it, and the
// record names the called tool.
func TestClaudeCodeFindsToolAmongFiveHundred(t *testing.T) {
	t.Parallel()
	program := claudeCodeBinary(t)
	d := start(t, object{"mcpServers": object{"many": many()}, "clients": object{"claude-code": object{"toolMode": "search"}}})
	d.running("many")
	m := &standIn{}
	server := httptest.NewServer(m)
	defer server.Close()
	settings := filepath.Join(t.TempDir(), "mcp.json")
	raw, _ := json.Marshal(object{"mcpServers": object{"drawbridge": object{"type": "http", "url": d.url + "/mcp", "headers": object{"Authorization": "Bearer " + d.token("claude-code")}}}})
	if err := os.WriteFile(settings, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	home, env := person(t)
	env = append(env, "ANTHROPIC_BASE_URL="+server.URL, "ANTHROPIC_API_KEY=sk-ant-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "ENABLE_TOOL_SEARCH=false", "CI=true", "NO_PROXY=127.0.0.1")
	said := inHome(t, home, env, program, "-p", "Give customer 42 the money back.", "--mcp-config", settings, "--strict-mcp-config",
		"--allowedTools", "mcp__drawbridge__find_tools,mcp__drawbridge__call_tool", "--output-format", "text")
	const want = `did stripe-refund_payment with {"payment_id":"pay_42"}`
	if !strings.Contains(said, want) {
		t.Errorf("Claude Code says\n%s\nit was offered %v, found\n%s\nand did\n%s", tail(said), m.asked, tail(m.found), tail(m.did))
	}
	ours := slices.DeleteFunc(slices.Clone(m.asked), func(n string) bool { return !strings.HasPrefix(n, "mcp__drawbridge__") })
	if len(ours) != 2 {
		t.Errorf("Claude Code offers its model %v of us", ours)
	}
	var names []string
	for _, c := range d.calls() {
		names = append(names, c.Server+"/"+c.Tool+" "+c.Outcome)
	}
	if !slices.Contains(names, "many/stripe-refund_payment ok") || !slices.Contains(names, "drawbridge/find_tools ok") || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "call_tool") }) {
		t.Errorf("recorded are %v", names)
	}
}

// Real clients of both eras on a profile list the tools of the profile, call them, and reach
// nothing else at any address.
func TestRealClientsStayWithinProfile(t *testing.T) {
	t.Parallel()
	d := start(t, object{
		"mcpServers": object{"demo": demo(), "many": many()},
		"profiles":   object{"small": object{"servers": object{"demo": object{"includeTools": []string{"echo"}}}}, "big": object{}},
		"clients":    object{"bound": object{"profile": "small"}},
	})
	d.running("demo", "many")
	outside := []toolCall{{"demo__echo", object{"text": "in"}}, {"many__git-blame", object{}}, {"demo__add", object{"a": 1, "b": 2}}}
	for _, era := range []string{"legacy", "modern"} {
		for _, way := range []struct{ path, token string }{{"/mcp", "bound"}, {"/p/small/mcp", "bound"}, {"/p/small/mcp", "free"}} {
			got := drive(t, era, d.url+way.path, d.token(way.token), way.token, outside...)
			if !slices.Equal(got.Tools, []string{"demo__echo"}) {
				t.Errorf("%s at %s as %s lists %v", era, way.path, way.token, got.Tools)
			}
			if r := got.Results[0]; r.Thrown != "" || r.IsError {
				t.Errorf("%s at %s as %s: echo: %+v", era, way.path, way.token, r)
			}
			for i, r := range got.Results[1:] {
				if r.Thrown == "" && !r.IsError {
					t.Errorf("%s at %s as %s reached %s: %+v", era, way.path, way.token, outside[i+1].Name, r)
				}
			}
		}
	}
	for _, c := range d.calls() {
		if c.Outcome == "ok" && (c.Server != "demo" || c.Tool != "echo") {
			t.Errorf("%s/%s was called", c.Server, c.Tool)
		}
	}
	for _, path := range []string{"/p/big/mcp", "/s/many/mcp", "/s/drawbridge/mcp"} {
		req, _ := http.NewRequest(http.MethodPost, d.url+path, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		req.Header = http.Header{"Authorization": {"Bearer " + d.token("bound")}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s answers a bound client %s", path, resp.Status)
		}
	}
}
