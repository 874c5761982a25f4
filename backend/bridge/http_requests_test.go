package bridge

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEndpointAnswersInvalidRequestsCleanly(t *testing.T) {
	s := newFixture(t, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	big := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"x":"` + strings.Repeat("a", 5<<20) + `"}}`
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		contains                 string
	}{
		{"unknown server", "POST", "/s/nobody/mcp", list, nil, 404, `"jsonrpc"`},
		{"unknown profile", "POST", "/p/office/mcp", list, nil, 404, `"jsonrpc"`},
		{"deeper", "POST", "/s/files/mcp/x", list, nil, 404, `"jsonrpc"`},
		{"no name", "POST", "/s//mcp", list, nil, 404, `"jsonrpc"`},
		{"preflight", "OPTIONS", "/mcp", "", []string{"Origin", "http://x", "Access-Control-Request-Method", "POST"}, 405, `"jsonrpc"`},
		{"put", "PUT", "/mcp", list, nil, 405, `"jsonrpc"`},
		{"head", "HEAD", "/mcp", "", nil, 405, ""},
		{"text", "POST", "/mcp", list, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		{"no type", "POST", "/mcp", list, []string{"Content-Type", ""}, 415, "application/json"},
		{"charset", "POST", "/mcp", list, []string{"Content-Type", "application/json; charset=utf-8"}, 400, "send initialize first"},
		{"no json", "POST", "/mcp", `{"jsonrpc"`, nil, 400, "-32700"},
		{"empty", "POST", "/mcp", "", []string{"Content-Type", "application/json"}, 400, "-32700"},
		{"no message", "POST", "/mcp", `{"a":1}`, nil, 400, "-32600"},
		{"duplicate key", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, nil, 400, "-32600"},
		{"folded key", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"Method":"ping","method":"tools/list"}`, nil, 400, "-32600"},
		{"duplicate param", "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}`, nil, 400, "-32602"},
		{"too large", "POST", "/mcp", big, nil, 413, "the request is larger than 4 MiB"},
		{"too large, id first", "POST", "/mcp", big, nil, 413, `{"jsonrpc":"2.0","id":1,"error"`},
		{"too large, id last", "POST", "/mcp", `{"method":"tools/call","params":{"x":"` + strings.Repeat("a", 5<<20) + `"},"jsonrpc":"2.0","id":"last"}`, nil, 413, `{"jsonrpc":"2.0","id":"last","error"`},
		{"far too large", "POST", "/mcp", `{"method":"tools/call","params":{"x":"` + strings.Repeat("a", maxDrained+1<<20) + `"},"id":1}`, nil, 413, `{"jsonrpc":"2.0","error"`},
		{"too large, no request", "POST", "/mcp", `{"result":"` + strings.Repeat("a", 5<<20) + `","id":1}`, nil, 413, `{"jsonrpc":"2.0","error"`},
		{"modern GET", "GET", "/mcp", "", []string{versionHeader, core.ModernVersion}, 405, `"jsonrpc"`},
		{"modern DELETE", "DELETE", "/mcp", "", []string{versionHeader, core.ModernVersion}, 405, `"jsonrpc"`},
		{"GET without session", "GET", "/mcp", "", nil, 400, `{"jsonrpc":"2.0","error"`},
		{"GET of JSON", "GET", "/mcp", "", []string{"Accept", "application/json"}, 400, `{"jsonrpc":"2.0","error"`},
		{"DELETE without session", "DELETE", "/mcp", "", nil, 400, ""},
		{"unknown legacy version", "POST", "/mcp", list, []string{versionHeader, "2020-01-01"}, 400, ""},
		{"accept json only", "POST", "/mcp", list, []string{"Accept", "application/json"}, 400, ""},
		{"modern batch", "POST", "/mcp", `[` + modernBody("tools/list", "") + `]`, []string{versionHeader, core.ModernVersion}, 400, ""},
	} {
		resp := s.request(c.method, c.path, c.body, c.headers...)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		assert.Equal(t, c.status, resp.StatusCode, c.name)
		assert.Contains(t, string(body), c.contains, c.name)
		if strings.Contains(string(body), `"id":null`) || len(body) > 0 && resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: an unknown id must be absent, and an error is JSON: %s %s", c.name, resp.Header.Get("Content-Type"), body)
		}
		for name := range resp.Header {
			assert.Falsef(t, strings.HasPrefix(name, "Access-Control"), "%s: %s", c.name, name)
		}
	}
	assert.Empty(t, s.gateway.seen, "reached the gateway")
}

func TestForgedInternalHeadersAreIgnored(t *testing.T) {
	h := http.Header{"X-Drawbridge-Client": {"claude"}, "X-Drawbridge-Shim": {"7"}, "X-Drawbridge-Ticket": {"1"}, "x-drawbridge-odd": {"2"}, "Accept": {"a"}}
	origin := readOrigin(h)
	assert.Truef(t, origin.token == "claude" && origin.shim == "7" && len(h) == 1, "%+v %v", origin, h)
}

func TestPrettyPrintedRequestReachesServerOnOneLine(t *testing.T) {
	s := newFixture(t, nil)
	onlyMessage(t, s.post("/mcp", "{\n \"jsonrpc\": \"2.0\",\r\n \"id\": 1, \"method\": \"tools/call\",\n \"params\": {\n  \"name\": \"math__add\",\n  \"arguments\": { \"a\": \"x  y\" }\n }\n}\n", s.openSession("/mcp", `{}`)...))
	checkEqual(t, "params", string(s.gateway.last().Params), `{"name":"add","arguments":{"a":"x  y"}}`)
}

func TestEventsContainNoLineBreaksBetweenTokens(t *testing.T) {
	checkEqual(t, "line", string(removeLineBreaks([]byte("{\r\n\"a\":\n\"\\n\"}"))), "{  \"a\": \"\\n\"}")
}

func TestRequestWithInvalidUTF8IsMarked(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/mcp", `{}`)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","arguments":{"a":"x`+"\xff"+`"}}}`, h...))
	call := s.gateway.last()
	assert.Truef(t, call.Repaired && strings.Contains(string(call.Params), "x\uFFFD"), "%+v", call)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...))
	assert.False(t, s.gateway.last().Repaired, "sound text is marked")
}
