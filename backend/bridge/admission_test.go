package bridge

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/require"
)

// Each row is a check that admit or admitStream makes. Other rows have tests of their own:
// TestModernHeadersMustMatchBody, TestEndpointAnswersInvalidRequestsCleanly, TestFirstRequestMustBeInitialize,
// TestInFlightRequestIDIsNotReusable, TestFiftyStreamsOfOneClientBecomeOne, TestHeaderArgumentsAreComparedWithBody.
func TestEachRequestIsCheckedBeforeItIsServed(t *testing.T) {
	s := newFixture(t, nil)
	legacy := s.openSession("/mcp", `{}`)
	modern := func(method string, more ...string) []string {
		return append([]string{versionHeader, core.ModernVersion, methodHeader, method}, more...)
	}
	with := func(headers []string, more ...string) []string {
		return append(headers[:len(headers):len(headers)], more...)
	}
	call := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":5,"method":"` + method + `"` + params + `}`
	}
	meta := func(members string) string {
		return call("tools/list", `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"`+members+`}}`)
	}
	list := modernBody("tools/list", "")
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
		want               string
	}{
		{"old revision", "POST", ping, with(legacy, versionHeader, "2020-01-01"), 400, `"code":-32600`},
		{"old revision of a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/x"}`, with(legacy, versionHeader, "2020-01-01"), 400, `"code":-32600`},
		{"old revision, modern", "POST", list, modern("tools/list", versionHeader, "2020-01-01"), 400, `"code":-32600`},
		{"old revision of a stream", "GET", "", with(legacy, versionHeader, "2020-01-01"), 400, `"code":-32600`},
		{"legacy revision in both places", "POST", strings.Replace(list, "2026-07-28", "2025-11-25", 1), modern("tools/list", versionHeader, "2025-11-25"), 400, `"code":-32022`},
		{"accepts no stream", "POST", ping, with(legacy, "Accept", "application/json"), 400, "text/event-stream"},
		{"accepts no document", "POST", list, modern("tools/list", "Accept", "text/event-stream"), 400, "application/json"},
		{"accepts anything", "POST", ping, with(legacy, "Accept", "*/*"), 200, `"result":{}`},
		{"accepts media ranges", "POST", ping, with(legacy, "Accept", "application/*;q=1, text/*"), 200, `"result":{}`},
		{"stream that accepts none", "GET", "", with(legacy, "Accept", "application/json"), 400, "text/event-stream"},
		{"resumed request", "POST", ping, with(legacy, "Last-Event-ID", "a_1"), 400, "Last-Event-ID"},
		{"resumed request, modern", "POST", list, modern("tools/list", "Last-Event-ID", "a_1"), 400, "Last-Event-ID"},
		{"resumed stream", "GET", "", with(legacy, "Last-Event-ID", "a_1"), 400, "Last-Event-ID"},
		{"stream without session", "GET", "", nil, 400, "there is no session yet"},
		{"params are missing", "POST", call("resources/subscribe", ""), legacy, 400, `"code":-32600`},
		{"params are null", "POST", call("tools/call", `,"params":null`), legacy, 400, `"code":-32600`},
		{"optional params are null", "POST", call("tools/list", `,"params":null`), legacy, 200, `"tools"`},
		{"initialize again", "POST", call("initialize", `,"params":{"protocolVersion":"2025-11-25"}`), legacy, 200, `"code":-32600`},
		{"method of the other era", "POST", call("subscriptions/listen", `,"params":{"notifications":{}}`), legacy, 200, `"code":-32601`},
		{"notification as a request", "POST", call("notifications/initialized", ""), legacy, 200, `"code":-32601`},
		{"no capabilities", "POST", meta(""), modern("tools/list"), 400, "clientCapabilities"},
		{"capabilities are a number", "POST", meta(`,"io.modelcontextprotocol/clientCapabilities":7`), modern("tools/list"), 400, "clientCapabilities"},
		{"client is a number", "POST", meta(`,"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":7`), modern("tools/list"), 400, "clientInfo"},
		{"session of the other era", "POST", list, modern("tools/list", sessionHeader, "x"), 200, `"tools"`},
		{"listens to nothing in particular", "POST", modernBody("subscriptions/listen", ""), modern("subscriptions/listen"), 400, `"code":-32602`},
		{"response to nothing", "POST", `{"jsonrpc":"2.0","id":5,"result":{}}`, legacy, 202, ""},
		{"notification that accepts nothing", "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, with(legacy, "Accept", "application/json"), 202, ""},
	} {
		resp := s.request(c.method, "/mcp", c.body, c.headers...)
		require.Falsef(t, c.method == "GET" && resp.StatusCode == http.StatusOK, "%s: the stream is open", c.name)
		if raw, _ := io.ReadAll(resp.Body); resp.StatusCode != c.status || !strings.Contains(string(raw), c.want) {
			t.Errorf("%s: %s %s, want %d with %s", c.name, resp.Status, raw, c.status, c.want)
		}
	}
}

func TestInitializeNegotiatesEachRevision(t *testing.T) {
	s := newFixture(t, nil)
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", "2025-11-25": "2025-11-25",
		"2026-07-28": "2025-11-25", "1999-01-01": "2025-11-25",
	} {
		resp := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+asked+`","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`)
		got := onlyMessage(t, resp)
		if resp.StatusCode != http.StatusOK || resp.Header.Get(sessionHeader) == "" || !strings.Contains(got, `"protocolVersion":"`+want+`","serverInfo":{"name":"drawbridge","title":"Drawbridge","version":"1.2.3"}`) {
			t.Errorf("%s: %s %s", asked, resp.Status, got)
		}
	}
	resp := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`)
	if got := onlyMessage(t, resp); resp.Header.Get(sessionHeader) != "" || !strings.Contains(got, "-32602") {
		t.Errorf("a refused initialize opens the session %q: %s", resp.Header.Get(sessionHeader), got)
	}
}
