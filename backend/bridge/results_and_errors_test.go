package bridge

import (
	"io"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
)

func (s *fixture) answer(body string, headers ...string) (status int, text string) {
	s.Helper()
	resp := s.post("/mcp", body, headers...)
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

func TestInvalidParamsAreRefusedInPlainWords(t *testing.T) {
	s := newFixture(t, nil)
	legacy := s.openSession("/mcp", "{}")
	modern := []string{versionHeader, core.ModernVersion, methodHeader, "tools/call"}
	for name, c := range map[string]struct {
		method, params string
		headers        []string
		want           string
	}{
		"array":           {"tools/call", `[1]`, legacy, `"error":{"code":-32602,"message":"the params must be an object"}`},
		"empty array":     {"tools/list", `[]`, legacy, `"the params must be an object"`},
		"modern array":    {"tools/call", `[1]`, modern, `"the params must be an object"`},
		"initialize":      {"initialize", `[1]`, nil, `"the params must be an object"`},
		"wrong version":   {"initialize", `{"protocolVersion":5}`, nil, `"error":{"code":-32602,"message":"the params of \"initialize\" do not match the schema of the protocol"}`},
		"wrong level":     {"logging/setLevel", `{"level":{}}`, legacy, `"the params of \"logging/setLevel\" do not match the schema of the protocol"`},
		"an array of ids": {"resources/subscribe", `{"uri":[]}`, legacy, `"error":{"code":-32602`},
	} {
		_, text := s.answer(`{"jsonrpc":"2.0","id":"q","method":"`+c.method+`","params":`+c.params+`}`, c.headers...)
		if !strings.Contains(text, c.want) || !strings.Contains(text, `"id":"q"`) || strings.Contains(text, "mcp.") || strings.Contains(text, "nmarshal") {
			t.Errorf("%s: got %s, want %s", name, text, c.want)
		}
	}
}

// Servers decide about arguments: the bridge forwards them unchanged, whatever their type is.
func TestArgumentsOfAnyTypeReachTheServer(t *testing.T) {
	s := newFixture(t, nil)
	legacy := s.openSession("/mcp", "{}")
	for _, arguments := range []string{`[1]`, `"x"`, `null`, `1.0`} {
		params := `{"name":"files__read","arguments":` + arguments + `}`
		status, text := s.answer(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`, legacy...)
		assert.Truef(t, status == 200 && !strings.Contains(text, `"error"`), "%s: %d %s", arguments, status, text)
		assert.Contains(t, string(s.gateway.last().Params), `"arguments":`+arguments)
	}
}

func TestUnknownVersionInHeaderIsNamedWithTheSupportedOnes(t *testing.T) {
	s := newFixture(t, nil)
	session := s.openSession("/mcp", "{}")[:2]
	const want = `"error":{"code":-32022,"message":"the protocol version \"2030-01-01\" is not supported. ` +
		`Supported versions: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05",` +
		`"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"2030-01-01"}}`
	version := []string{versionHeader, "2030-01-01"}
	for name, c := range map[string]struct {
		body    string
		headers []string
	}{
		"with a session":    {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, append(version, session...)},
		"without a session": {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, version},
		"a notification":    {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, append(version, session...)},
		"initialize":        {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, version},
	} {
		status, text := s.answer(c.body, c.headers...)
		assert.Truef(t, status == 400 && strings.Contains(text, want), "%s: %d %s", name, status, text)
	}
	status, text := s.answer(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, append([]string{versionHeader, strings.Repeat("é", 500)}, session...)...)
	assert.Truef(t, status == 400 && len(text) <= 600, "%d %s", status, text)
}
