//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// startServerRefusingCalls is a remote server that lists a tool and refuses to run it.
func startServerRefusingCalls(t testing.TB) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &m) != nil || len(m.ID) == 0 {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
			return
		}
		result, ok := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"out","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
			"ping":       `{}`,
		}[m.Method]
		switch {
		case m.Method == "tools/call":
			w.WriteHeader(http.StatusUnauthorized)
		case ok:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mcp"
}

// with returns an entry with additional keys.
func with(entry object, more object) object {
	for key, value := range more {
		entry[key] = value
	}
	return entry
}

// Each code is caused by a misbehaving server or by a rule, received by a client with the official
// SDK, and recorded with its reason. No server can cause the code internal.
func TestEachErrorCodeReachesClientAndRecord(t *testing.T) {
	t.Parallel()
	d := start(t, object{
		"mcpServers": object{
			"demo": with(demo(), object{"validateInput": "reject", "excludeTools": []string{"demo_s*", "sl*"}, "tools": object{
				"echo": object{"rateLimit": object{"perSecond": 0.001, "burst": 1}},
			}}),
			"denied": with(testServer(t, "echo"), object{"approval": "deny"}),
			"asked":  with(testServer(t, "echo"), object{"approval": "ask"}),
			"silent": with(testServer(t, "silent-call"), object{"requestTimeoutMs": 300, "breaker": object{"failures": 2}}),
			"slow":   testServer(t, "silent-call"),
			"odd":    testServer(t, "malformed-tools"),
			"out":    object{"url": startServerRefusingCalls(t)},
			"away":   object{"command": "no-such-program-anywhere"},
		},
	})
	d.running("demo", "denied", "asked", "silent", "slow", "out")
	eventually.Complete(t, limit(20*time.Second), func() string {
		if h := d.hostile("odd"); h.State != "running" && h.State != "degraded" {
			return "odd is " + h.State
		}
		return ""
	})
	cases := []struct {
		name, tool string
		arguments  object
		text       string // text of the result
		thrown     string // text of the protocol error
		outcome    string
		code       string
		reason     string
	}{
		{name: "validation", tool: "demo__add", arguments: object{"a": "x"}, text: "(code=validation)", outcome: "rejected", code: "validation", reason: "do not match its schema: "},
		{name: "not_found", tool: "demo__nothing", thrown: "-32602", outcome: "rejected", code: "not_found", reason: "demo__nothing"},
		{name: "rate, the first", tool: "demo__echo", arguments: object{"text": "a"}, text: "a", outcome: "ok"},
		{name: "rate_limited", tool: "demo__echo", arguments: object{"text": "a"}, text: "(code=rate_limited retriable=true)", outcome: "rejected", code: "rate_limited", reason: "0.001 calls per second"},
		{name: "rejected", tool: "denied__echo", text: "(code=rejected)", outcome: "rejected", code: "rejected", reason: "is not allowed"},
		{name: "nobody to ask", tool: "asked__echo", text: "neither the window nor the web UI is open", outcome: "rejected", code: "rejected", reason: "neither the window nor the web UI"},
		{name: "timeout", tool: "silent__echo", text: "(code=timeout retriable=true)", outcome: "timeout", code: "timeout", reason: "within 300ms (requestTimeoutMs)"},
		{name: "timeout again", tool: "silent__echo", text: "(code=timeout retriable=true)", outcome: "timeout", code: "timeout", reason: "requestTimeoutMs"},
		{name: "breaker_open", tool: "silent__echo", text: "(code=breaker_open retriable=true)", outcome: "rejected", code: "breaker_open", reason: "failed 2 times in a row; its circuit breaker is open"},
		{name: "cancelled", tool: "slow__echo", arguments: object{"giveUpAfterMs": 500}, thrown: "-32001", outcome: "cancelled", code: "cancelled", reason: "cancelled"},
		{name: "degraded", tool: "odd__i", text: "(code=degraded)", outcome: "rejected", code: "degraded", reason: "its list is incomplete"},
		{name: "unauthorized", tool: "out__echo", text: "(code=unauthorized)", outcome: "protocol_error", code: "unauthorized", reason: "it requires you to sign in"},
		{name: "unavailable", tool: "away__x", text: "away is temporarily unavailable. Please try again later. (code=unavailable retriable=true)", outcome: "protocol_error", code: "unavailable", reason: `server "away"`},
	}
	order := make([]toolCall, len(cases))
	for i, c := range cases {
		if c.arguments == nil {
			c.arguments = object{}
		}
		order[i] = toolCall{c.tool, c.arguments}
	}
	got := drive(t, "legacy", d.url+"/mcp", d.token("policy"), "e2e-policy", order...)
	for i, c := range cases {
		r := got.Results[i]
		text := ""
		if len(r.Content) > 0 {
			text = r.Content[0].Text
		}
		if c.thrown != "" {
			assert.Contains(t, r.Thrown, c.thrown, c.name)
		} else if r.Thrown != "" || !strings.Contains(text, c.text) || r.IsError != (c.code != "") {
			t.Errorf("%s: the client got %+v", c.name, r)
		}
	}
	type row struct {
		PublicName, Outcome, Code, Reason string
		TookNs                            int64
	}
	eventually.Complete(t, limit(5*time.Second), func() string {
		var list struct{ Items []row }
		d.get("/api/v1/calls?limit=200", &list)
		left := list.Items
		for i, c := range cases {
			at := -1
			for n := len(left) - 1; n >= 0 && at < 0; n-- {
				if left[n].PublicName == c.tool && left[n].Outcome == c.outcome {
					at = n
				}
			}
			if at < 0 {
				return fmt.Sprintf("no call of %s (%d) is recorded as %s: %+v", c.tool, i, c.outcome, list.Items)
			}
			if left[at].Code != c.code || !strings.Contains(left[at].Reason, c.reason) {
				return fmt.Sprintf("%s is recorded as %+v", c.name, left[at])
			}
			if c.code == "timeout" && time.Duration(left[at].TookNs) > limit(800*time.Millisecond) {
				return fmt.Sprintf("a limit of 300 ms took %s", time.Duration(left[at].TookNs))
			}
			left = append(left[:at:at], left[at+1:]...)
		}
		return ""
	})

	code, health := d.do("GET", "/healthz", nil) // with the admin token
	if code != 200 || !strings.Contains(health, `"status":"degraded"`) || !strings.Contains(health, `"server":"silent","state":"breaker"`) {
		t.Errorf("%d %s", code, health)
	}
	out := d.cli(0, "explain", "silent", "echo", "--client", "policy")
	assert.True(t, strings.Contains(out, " would be rejected") && strings.Contains(out, "ircuit breaker is open"), out)
	n := strings.Count(d.log.String(), "MCP server is unavailable")
	assert.Truef(t, n >= 1 && n <= 3, "outages are logged %d times", n)
}
