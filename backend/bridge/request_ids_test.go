package bridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/stretchr/testify/assert"
)

// Ids that a decoder would round or write differently are returned byte for byte.
func TestRequestIDsAreReturnedUnchanged(t *testing.T) {
	s := newFixture(t, nil)
	session := s.openSession("/mcp", `{}`)
	for _, id := range []string{"9007199254740993", "-9007199254740993", "1.5", "1e2", "1.0", "0", "7", `"a\u00e9"`, `"9007199254740993"`, "123456789012345678901234567890"} {
		for _, method := range []string{"ping", "tools/list", "nope"} {
			got := s.postBody("/mcp", `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"}`, session...)
			want := `"id":` + id + `,`
			if !strings.Contains(got, want) && !strings.Contains(got, strings.TrimSuffix(want, ",")+"}") || method == "nope" && !strings.Contains(got, "-32601") {
				t.Errorf("%s with id %s: %s", method, id, got)
			}
		}
		got := s.postBody("/mcp", strings.Replace(modernBody("server/discover", ""), `"m-1"`, id, 1), versionHeader, core.ModernVersion, "Mcp-Method", "server/discover")
		assert.Contains(t, got, `"id":`+id, "server/discover with id")
	}
}

func TestRefusalCarriesRequestID(t *testing.T) {
	s := newFixture(t, nil, func(o *Options) {
		o.WhyAbsent = func(server string) string { return map[string]string{"off": "it is disabled"}[server] }
	})
	session := s.openSession("/mcp", `{}`)[1] // its id
	for name, c := range map[string]struct {
		path, body string
		headers    []string
		contains   string
	}{
		"unknown server":  {"/s/nobody/mcp", `{"jsonrpc":"2.0","id":41,"method":"tools/list"}`, nil, `there is no server named \"nobody\"`},
		"disabled server": {"/s/off/mcp", `{"jsonrpc":"2.0","id":41,"method":"tools/list"}`, nil, "it is disabled"},
		"unknown version": {"/mcp", `{"jsonrpc":"2.0","id":41,"method":"ping"}`, []string{sessionHeader, session, versionHeader, "2020-01-01"}, "error"},
		"not 2.0":         {"/mcp", `{"jsonrpc":"1.0","id":41,"method":"tools/list"}`, []string{sessionHeader, session}, "2.0"},
		"params of text":  {"/mcp", `{"jsonrpc":"2.0","id":41,"method":"tools/list","params":"x"}`, []string{sessionHeader, session}, "params that are neither"},
		"params twice":    {"/mcp", `{"jsonrpc":"2.0","id":41,"method":"tools/list","params":{"a":1,"a":2}}`, []string{sessionHeader, session}, "error"},
		"no params":       {"/mcp", `{"jsonrpc":"2.0","id":41,"method":"tools/call"}`, []string{sessionHeader, session}, "error"},
	} {
		got := s.postBody(c.path, c.body, c.headers...)
		assert.Truef(t, strings.Contains(got, `"id":41`) && strings.Contains(got, c.contains), "%s: %s", name, got)
	}
}

// A server that is written but not loaded yet is waited for; one that is unknown afterwards is refused.
func TestRequestWaitsForServerThatIsBeingLoaded(t *testing.T) {
	var s *fixture
	s = newFixture(t, nil, func(o *Options) {
		o.Settle = func(context.Context) error {
			s.registry.Configure(registry.Prefixed, []registry.Server{{ID: "files"}, {ID: "coming"}})
			s.registry.Set("coming", "Coming", mathCatalog())
			return nil
		}
	})
	for _, path := range []string{"/s/coming/mcp", "/s/Coming/mcp"} {
		s.openSession(path, `{}`)
		s.registry.Configure(registry.Prefixed, []registry.Server{{ID: "files"}})
	}
	assert.Contains(t, s.postBody("/s/nobody/mcp", `{"jsonrpc":"2.0","id":41,"method":"tools/list"}`), "there is no server named")
}

// A client that reconnects while the daemon starts must not be told that its servers do not exist.
func TestFirstRequestWaitsForTheFirstConfiguration(t *testing.T) {
	waits := 0
	s := newFixture(t, nil, func(o *Options) {
		o.Settle = func(context.Context) error { waits++; return errors.New("the file has errors") }
	})
	for range 3 {
		s.openSession("/mcp", `{}`)
	}
	assert.Equal(t, 1, waits)
}

func (s *fixture) postBody(path, body string, headers ...string) string {
	resp := s.request(http.MethodPost, path, body, headers...)
	b, _ := io.ReadAll(resp.Body)
	return string(b)
}
