package bridge

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEraIsDetectedFromHeaderAndBody(t *testing.T) {
	for _, c := range []struct {
		header, body string
		want         core.Era
	}{
		{"", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}`, core.Legacy},
		{"2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, core.Legacy},
		{"2026-07-28", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, core.Modern},
		{"2027-01-01", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, core.Modern},
		{"", modernBody("initialize", ""), core.Modern},
		{"2025-11-25", modernBody("tools/list", ""), core.Modern},
		{"", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}}`, core.Legacy},
		{"", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`, core.Legacy},
	} {
		m, err := parseMessage([]byte(c.body))
		require.NoError(t, err)
		h := http.Header{}
		if c.header != "" {
			h.Set(versionHeader, c.header)
		}
		assert.Equalf(t, c.want, eraOf(h, &m.params), "%q %s", c.header, c.body)
	}
}

// The detection must agree with an independent parser in both directions.
func FuzzEraSwitch(f *testing.F) {
	f.Add("", `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`)
	f.Add("2025-11-25", `{"method":"a","params":{"_META":{"io.modelcontextprotocol\/protocolVersion":1}}}`)
	f.Add("2026-07-28", `[{"method":"a"}]`)
	f.Add("x", `{"params":{"_meta":{"\u0069o.modelcontextprotocol/protocolVersion":""}},"method":"m"}`)
	f.Fuzz(func(t *testing.T, version, body string) {
		m, err := parseMessage([]byte(body))
		if err != nil {
			return
		}
		h := http.Header{}
		h.Set(versionHeader, version)
		got := eraOf(h, &m.params)
		claims := false
		if m.env.Method != "" {
			claims = hasModernMeta(m.rawParams())
		}
		want := version >= core.ModernVersion || claims
		require.Falsef(t, (got == core.Modern) != want && m.env.Method != "", "%q %s: %s", version, body, got)
	})
}

// hasModernMeta looks for the protocol version in _meta with encoding/json.
func hasModernMeta(params []byte) bool {
	var p map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(p["_meta"], &meta) != nil {
		return false
	}
	_, ok := meta["io.modelcontextprotocol/protocolVersion"]
	return ok
}

func TestModernHeadersMustMatchBody(t *testing.T) {
	s := newFixture(t, nil)
	body := modernBody("tools/call", `"name":"math__add"`)
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		code    string
	}{
		{"no version header", []string{methodHeader, "tools/call", nameHeader, "math__add"}, 400, "-32020"},
		{"another version", []string{versionHeader, "2026-08-01", methodHeader, "tools/call", nameHeader, "math__add"}, 400, "-32020"},
		{"no method header", []string{versionHeader, core.ModernVersion, nameHeader, "math__add"}, 400, "-32020"},
		{"another method", []string{versionHeader, core.ModernVersion, methodHeader, "tools/list", nameHeader, "math__add"}, 400, "-32020"},
		{"no name header", []string{versionHeader, core.ModernVersion, methodHeader, "tools/call"}, 400, "-32020"},
		{"another name", []string{versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "files__read"}, 400, "-32020"},
		{"broken base64", []string{versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "=?base64?%?="}, 400, "-32020"},
	} {
		resp := s.post("/mcp", body, c.headers...)
		if got := onlyMessage(t, resp); resp.StatusCode != c.status || !strings.Contains(got, c.code) {
			t.Errorf("%s: %s %s", c.name, resp.Status, got)
		}
	}
	bare := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	resp := s.post("/mcp", bare, versionHeader, core.ModernVersion, methodHeader, "tools/list")
	if got := onlyMessage(t, resp); resp.StatusCode != 400 || !strings.Contains(got, "-32602") {
		t.Errorf("no _meta: %s %s", resp.Status, got)
	}
	future := strings.ReplaceAll(modernBody("tools/list", ""), "2026-07-28", "2099-01-01")
	resp = s.post("/mcp", future, versionHeader, "2099-01-01", methodHeader, "tools/list")
	if got := onlyMessage(t, resp); resp.StatusCode != 400 || !strings.Contains(got, "-32022") {
		t.Errorf("future version: %s %s", resp.Status, got)
	}
	for _, method := range []string{"initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"} {
		resp := s.modern("/mcp", method, "", `"level":"info","uri":"a:b"`)
		if got := onlyMessage(t, resp); resp.StatusCode != 404 || !strings.Contains(got, "-32601") {
			t.Errorf("%s: %s %s", method, resp.Status, got)
		}
	}
	assert.Empty(t, s.gateway.seen, "reached the gateway")
}

func TestHeaderArgumentsAreComparedWithBody(t *testing.T) {
	s := newFixture(t, nil)
	const params = `"name":"files__marked","arguments":{"region":"eu"}`
	for value, status := range map[string]int{"eu": 200, "us": 400, "": 400, "=?base64?ZXU=?=": 200} {
		var h []string
		if value != "" {
			h = []string{"Mcp-Param-Region", value}
		}
		resp := s.modern("/mcp", "tools/call", "files__marked", params, h...)
		got := onlyMessage(t, resp)
		assert.Equalf(t, status, resp.StatusCode, "%v %v", value, got)
	}
	call := s.gateway.last()
	assert.Truef(t, call != nil && call.Name == "marked", "call: %+v", call)
}
