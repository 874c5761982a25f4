package bridge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

const clientExtensions = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}, "io.modelcontextprotocol/tasks":{},"vendor/x":{}}}`

// newExtensionsFixture returns a fixture with the servers plain, one and two. One and two have an
// app whose own tool is called refresh; only two has the tool sort.
func newExtensionsFixture(t *testing.T) *fixture {
	s := newFixture(t, nil)
	s.registry.Arrange("", []registry.Server{{ID: "plain"}, {ID: "one"}, {ID: "two"}})
	tool := func(name, meta string) core.Item {
		return core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `","inputSchema":{}` + meta + `}`)}
	}
	app := tool("show", `,"_meta":{"ui":{"resourceUri":"ui://app"}}`)
	s.registry.Set("plain", "", &core.Catalog{Tools: []core.Item{tool("sort", ""), tool("only", "")}, Capabilities: json.RawMessage(`{"tools":{}}`)})
	s.registry.Set("one", "", &core.Catalog{Tools: []core.Item{app, tool("refresh", "")}, Capabilities: json.RawMessage(
		`{"tools":{},"extensions":{"vendor/x":{"z":1.0,"a":"<b>&"},"io.modelcontextprotocol/tasks":{},"vendor/y":{}}}`)})
	s.registry.Set("two", "", &core.Catalog{Tools: []core.Item{app, tool("refresh", ""), tool("sort", "")}, Capabilities: json.RawMessage(
		`{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{"n":9007199254740993},"vendor/x":{"other":true}}}`)})
	return s
}

// A client sees the extensions that it declares itself and that a server of the address has, with
// the settings of the server unchanged. The tasks extension belongs to the modern era.
func TestExtensionsAreOfferedWhereBothSidesHaveThem(t *testing.T) {
	s := newExtensionsFixture(t)
	for path, want := range map[string]string{
		"/mcp":         `"extensions":{TASKS"io.modelcontextprotocol/ui":{"n":9007199254740993},"vendor/x":{"z":1.0,"a":"<b>&"}}`,
		"/s/one/mcp":   `"extensions":{TASKS"vendor/x":{"z":1.0,"a":"<b>&"}}`,
		"/s/two/mcp":   `"extensions":{"io.modelcontextprotocol/ui":{"n":9007199254740993},"vendor/x":{"other":true}}`,
		"/s/plain/mcp": ``,
	} {
		for _, declared := range []string{clientExtensions, `{}`} {
			legacy := onlyMessage(t, s.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+declared+`,"clientInfo":{"name":"probe","version":"9"}}}`))
			modern := onlyMessage(t, s.post(path, strings.Replace(modernBody("server/discover", ""), `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":`+declared, 1),
				versionHeader, core.ModernVersion, methodHeader, "server/discover"))
			for era, got := range map[string]string{"legacy": legacy, "modern": modern} {
				if declared == `{}` || want == "" {
					if strings.Contains(got, `"extensions"`) {
						t.Errorf("%s, %s: a client without extensions sees %s", path, era, got)
					}
				} else if !strings.Contains(got, strings.Replace(want, "TASKS", map[string]string{"modern": `"io.modelcontextprotocol/tasks":{},`}[era], 1)) {
					t.Errorf("%s, %s: no %s in %s", path, era, want, got)
				}
			}
		}
	}
}

// The extension belongs to the modern era: a server must not answer a legacy client with a task that
// only a modern client could fetch.
func TestTasksExtensionIsDeclaredForModernClientsOnly(t *testing.T) {
	s := newExtensionsFixture(t)
	onlyMessage(t, s.post("/mcp", strings.Replace(modernBody("tools/call", `"name":"two__sort","arguments":{"n":1.0}`), `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":`+clientExtensions, 1),
		versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "two__sort"))
	checkEqual(t, "modern", string(s.gateway.last().Capabilities), clientExtensions)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two__sort"}}`, s.openSession("/mcp", clientExtensions)...))
	checkEqual(t, "legacy", string(s.gateway.last().Capabilities), `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]},"vendor/x":{}}}`)
	for _, same := range []string{`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{"extensions":{"io.modelcontextprotocol\/t\u0061sks":{} , "a":1}}`, `{"tasks":{ }}`, `{"extensions":5,"tasks":[]}`} {
		got := withoutTasks([]byte(same))
		if !json.Valid(got) || hasExtension(got, tasksExtension) {
			t.Errorf("%s becomes %s", same, got)
		}
	}
}

// An app calls the tools of its server by their own names. At the address of several servers, they
// are found if only one server with an app has the tool.
func TestAppCallsToolsByTheirOwnNames(t *testing.T) {
	s := newExtensionsFixture(t)
	app, other := s.openSession("/mcp", clientExtensions), s.openSession("/mcp", `{}`)
	for _, tt := range []struct {
		name, server string
		session      []string
	}{
		{"sort", "two", app}, {"two__sort", "two", app}, {"only", "", app}, {"refresh", "", app}, {"sort", "", other},
	} {
		s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tt.name+`"}}`, tt.session...)
		if got := s.gateway.last(); got.Server != tt.server || tt.server != "" && got.Name != "sort" {
			t.Errorf("%s leads to %q of %q, want %q", tt.name, got.Name, got.Server, tt.server)
		}
	}
}
