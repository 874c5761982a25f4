package bridge

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const clientExtensions = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}, "io.modelcontextprotocol/tasks":{},"vendor/x":{}}}`

// newExtensionsFixture returns a fixture with the servers plain, one and two. One and two have an
// app whose own tool is called refresh; only two has the tool sort.
func newExtensionsFixture(t *testing.T) *fixture {
	s := newFixture(t, nil)
	s.registry.Configure("", []registry.Server{{ID: "plain"}, {ID: "one"}, {ID: "two"}})
	tool := func(name, meta string) core.Item {
		return core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `","inputSchema":{"type":"object"}` + meta + `}`)}
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
			modern := onlyMessage(t, s.modernAs(declared, path, "server/discover", "", ""))
			if !strings.Contains(modern, `"cacheScope":"private"`) { // the answer depends on the client
				t.Errorf("%s: server/discover may be shared: %s", path, modern)
			}
			for era, got := range map[string]string{"legacy": legacy, "modern": modern} {
				if declared == `{}` || want == "" {
					assert.NotContainsf(t, got, `"extensions"`, "%s, %s", path, era)
				} else if !strings.Contains(got, strings.Replace(want, "TASKS", map[string]string{"modern": `"io.modelcontextprotocol/tasks":{},`}[era], 1)) {
					t.Errorf("%s, %s: no %s in %s", path, era, want, got)
				}
			}
		}
	}
}

// The extension belongs to the modern era: a server must not answer a legacy client with a task
// that only a modern client could fetch.
func TestTasksExtensionIsDeclaredForModernClientsOnly(t *testing.T) {
	s := newExtensionsFixture(t)
	onlyMessage(t, s.modernAs(clientExtensions, "/mcp", "tools/call", "two__sort", `"name":"two__sort","arguments":{"n":1.0}`))
	checkEqual(t, "modern", string(s.gateway.last().Capabilities), clientExtensions)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"two__sort"}}`, s.openSession("/mcp", clientExtensions)...))
	checkEqual(t, "legacy", string(s.gateway.last().Capabilities), `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]},"vendor/x":{}}}`)
	for _, same := range []string{`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{"extensions":{"io.modelcontextprotocol\/t\u0061sks":{} , "a":1}}`, `{"tasks":{ }}`, `{"extensions":5,"tasks":[]}`} {
		got := withoutTasks([]byte(same))
		assert.Truef(t, json.Valid(got) && !hasExtension(got, tasksExtension), "%s becomes %s", same, got)
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

// At the address of one server, methods of an extension that both sides declare pass byte for byte.
func TestExtensionMethodPassesAtTheAddressOfItsServer(t *testing.T) {
	s := newExtensionsFixture(t)
	const params, result = `{"z":9007199254740993,"a":1.0,"e":"\u00e9"}`, `{"b":1.0,"a":{"n":9007199254740993},"taskId":"x","contents":[{"uri":"board://1"}]}`
	s.gateway.answer = func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(result)}, nil
	}
	call := func(path, method, declared string) (legacy, modern string) {
		legacy = onlyMessage(t, s.post(path, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, s.openSession(path, declared)...))
		return legacy, onlyMessage(t, s.modernAs(declared, path, method, "", params[1:len(params)-1]))
	}
	legacy, modern := call("/s/two/mcp", "vendor/x.sort", clientExtensions)
	checkEqual(t, "legacy", legacy, `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
	assert.Contains(t, modern, `"result":`+result[:len(result)-1]+`,"resultType":"complete"`)
	seen := s.gateway.seen
	if len(seen) != 2 || seen[0].Server != "two" || seen[0].Method != "vendor/x.sort" || string(seen[0].Params) != params || !strings.HasPrefix(string(seen[1].Params), params[:len(params)-1]) {
		t.Errorf("%d calls: %+v", len(seen), seen)
	}
	for _, refused := range [][3]string{
		{"/s/two/mcp", "vendor/x.sort", `{}`}, {"/s/plain/mcp", "vendor/x.sort", clientExtensions}, {"/mcp", "vendor/x.sort", clientExtensions},
		{"/s/two/mcp", "tools/invoke", clientExtensions}, {"/s/two/mcp", "Tools/call", clientExtensions}, {"/s/two/mcp", "sampling/createMessage", clientExtensions},
		{"/s/two/mcp", "vendor/x.sort", `{"extensions":{"io.modelcontextprotocol/ui":{}}}`},
	} {
		legacy, modern := call(refused[0], refused[1], refused[2])
		assert.Contains(t, legacy, `"code":-32601`, refused)
		assert.Contains(t, modern, `"code":-32601`, refused)
	}
	assert.Len(t, s.gateway.seen, 2, "a refused method reached a server")
}

// At the address of one server, notifications of an extension that both sides declare pass byte for
// byte, in both directions. Those of a server reach only the clients whose calls its process
// serves.
func TestExtensionNotificationsPassAtTheAddressOfTheirServer(t *testing.T) {
	s := newExtensionsFixture(t)
	const params = `{"z":9007199254740993, "a":1.0,"e":"\u00e9","taskId":"x"}`
	streams := map[string]*http.Response{}
	open := func(name, path, declared string) {
		streams[name] = s.request(http.MethodGet, path, "", s.openSession(path, declared, ClientHeader, name)...)
	}
	open("legacy", "/s/two/mcp", clientExtensions)
	open("other process", "/s/two/mcp", clientExtensions)
	open("undeclared", "/s/two/mcp", `{"extensions":{"io.modelcontextprotocol/ui":{}}}`)
	open("aggregate", "/mcp", clientExtensions)
	open("one", "/s/one/mcp", clientExtensions)
	streams["modern"] = s.modernAs(clientExtensions, "/s/two/mcp", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, ClientHeader, "modern")
	next := map[string]func() (string, bool){}
	for name, stream := range streams {
		message, stop := iter.Pull(events(stream.Body))
		defer stop()
		next[name] = message
	}
	ack, _ := next["modern"]()
	require.Contains(t, ack, "acknowledged")
	waitForStreams(t, s.bridge, len(streams))
	for _, method := range []string{"vendor/x.changed", "notifications/vendor/x", "tools/list_changed", "notifications/message"} {
		s.bridge.ExtensionNotified("two", method, json.RawMessage(params), func(call *core.Call) bool {
			assert.Truef(t, call.Server == "two" && call.Client.Token != "" && (call.Session == "") == (call.Era == core.Modern), "%+v", call)
			return call.Client.Token != "other process"
		})
	}
	for _, server := range []string{"one", "two"} {
		s.registry.Set(server, "", &core.Catalog{Capabilities: json.RawMessage(`{"tools":{}}`)})
		s.bridge.ListChanged(registry.Change{Server: server, Kinds: []core.Kind{core.Tools}})
	}
	for name := range streams {
		if name == "legacy" || name == "modern" {
			for _, method := range []string{"vendor/x.changed", "notifications/vendor/x"} {
				sent := params
				if name == "modern" {
					sent = `{"_meta":{"io.modelcontextprotocol/subscriptionId":"m-1"},` + params[1:]
				}
				got, _ := next[name]()
				checkEqual(t, name, got, `{"jsonrpc":"2.0","method":"`+method+`","params":`+sent+`}`)
			}
		}
		got, _ := next[name]()
		assert.Contains(t, got, "notifications/tools/list_changed", name)
	}
}

// A notification of a client reaches the server of the endpoint, and is not sent where the
// extension is not declared by both.
func TestExtensionNotificationsOfClientsPass(t *testing.T) {
	s := newExtensionsFixture(t)
	const params = `{"z":9007199254740993, "a":1.0,"e":"\u00e9"}`
	send := func(path, method, declared string) {
		s.post(path, `{"jsonrpc":"2.0","method":"`+method+`","params":`+params+`}`, s.openSession(path, declared)...)
	}
	for _, method := range []string{"vendor/x.moved", "notifications/vendor/x"} {
		send("/s/two/mcp", method, clientExtensions)
		got := s.gateway.last()
		assert.Truef(t, got.OneWay && got.Server == "two" && got.Method == method && string(got.Params) == params, "%s: %+v", method, got)
	}
	body := strings.Replace(modernBodyAs(clientExtensions, "vendor/x.moved", params[1:len(params)-1]), `"id":"m-1",`, "", 1)
	assert.Equal(t, http.StatusAccepted, s.post("/s/two/mcp", body, versionHeader, core.ModernVersion, methodHeader, "vendor/x.moved").StatusCode)
	if got := s.gateway.last(); !got.OneWay || !strings.HasPrefix(string(got.Params), params[:len(params)-1]) || len(s.gateway.seen) != 3 {
		t.Errorf("%d calls: %+v", len(s.gateway.seen), got)
	}
	for _, refused := range [][3]string{
		{"/mcp", "vendor/x.moved", clientExtensions}, {"/s/two/mcp", "vendor/x.moved", `{}`}, {"/s/plain/mcp", "vendor/x.moved", clientExtensions},
		{"/s/two/mcp", "notifications/roots/list_changed", clientExtensions}, {"/s/two/mcp", "notifications/progress", clientExtensions}, {"/s/two/mcp", "tools/call", clientExtensions},
	} {
		send(refused[0], refused[1], refused[2])
	}
	assert.Len(t, s.gateway.seen, 3)
}

// A client that does not declare MCP Apps sees nothing of them in the list of tools. Everything
// else is unchanged, byte for byte, and so is the list of a client that declares them.
func TestOnlyClientsWithAppsSeeThemInTools(t *testing.T) {
	s := newFixture(t, nil)
	s.registry.Configure("", []registry.Server{{ID: "one"}})
	const plain = `{"name":"plain","ui":{"a":1.0},"inputSchema":{"type":"object","properties":{"ui":{}}},"_meta":{"v":1.0}}`
	const meta = `{"v":9007199254740993,"ui":{"resourceUri":"ui:\/\/app"},"ui/resourceUri":"ui://app","openai/outputTemplate":"ui://app","e":"\u00e9"}`
	show, refresh := `{"x":1.0,"_meta":`+meta+`,"name":"show","inputSchema":{"type":"object"}}`, `{"name":"refresh","inputSchema":{"type":"object"},"_meta":{"ui":{"visibility":["app"]}}}`
	model := `{"name":"model","_meta":{"ui":{"visibility":["model","app"]}},"inputSchema":{"type":"object"}}`
	var tools []core.Item
	for name, raw := range map[string]string{"plain": plain, "show": show, "refresh": refresh, "model": model} {
		tools = append(tools, core.Item{Name: name, Raw: json.RawMessage(raw)})
	}
	s.registry.Set("one", "", &core.Catalog{Tools: tools, Capabilities: json.RawMessage(`{"tools":{},"extensions":{"io.modelcontextprotocol/ui":{}}}`)})
	list := func(path, declared string) map[string]string {
		legacy := onlyMessage(t, s.post(path, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, s.openSession(path, declared)...))
		modern := onlyMessage(t, s.modernAs(declared, path, "tools/list", "", ""))
		return map[string]string{"legacy": strings.ReplaceAll(legacy, "one__", ""), "modern": strings.ReplaceAll(modern, "one__", "")}
	}
	without := strings.Replace(show, `"ui":{"resourceUri":"ui:\/\/app"},"ui/resourceUri":"ui://app",`, ``, 1)
	for _, path := range []string{"/mcp", "/s/one/mcp"} {
		for era, got := range list(path, `{}`) {
			if !json.Valid([]byte(got)) || !strings.Contains(got, plain) || !strings.Contains(got, without) || strings.Contains(got, "refresh") || !strings.Contains(got, `{"name":"model","_meta":{},"inputSchema":{"type":"object"}}`) {
				t.Errorf("%s, %s, without apps: %s", path, era, got)
			}
		}
		for era, got := range list(path, clientExtensions) {
			for _, raw := range []string{plain, show, refresh, model} {
				assert.Containsf(t, got, raw, "%s, %s", path, era)
			}
		}
	}
}

// However a server spells the keys of MCP Apps in JSON, a client that does not declare the
// extension sees nothing of them. Other escapes stay as they are.
func TestEscapedKeysOfMCPAppsAreHidden(t *testing.T) {
	for tool, want := range map[string]string{
		`{"name":"a","_meta":{"ui\/resourceUri":"ui:\/\/a","x":1.0}}`:                                                `{"name":"a","_meta":{"x":1.0}}`,
		`{"name":"a","_meta":{"ui/resourceUr\u0069":"ui://a"}}`:                                                      `{"name":"a","_meta":{}}`,
		`{"name":"a","_meta":{"u\u0069":{"resourceUri":"ui://a"}},"description":"\u00e9\n"}`:                         `{"name":"a","_meta":{},"description":"\u00e9\n"}`,
		`{"name":"a","\u005fmeta":{"\u0075i":{"resourceUri":"ui://a"}}}`:                                             `{"name":"a","\u005fmeta":{}}`,
		`{"name":"a","_meta":{"u\u0069":{"visib\u0069lity":["app"]}}}`:                                               ``,
		`{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"},"u\u0069":{"resourceUri":"b"}}}`:                         ``,
		`{"name":"a","_meta":{"ui":{"resourceUri":"ui://a"}},"_met\u0061":{"ui":{"x":"b"}}}`:                         ``,
		`{"name":"a","description":"\u00e9 \"ui\"","_meta":{"ui2":{"ui":1}}}`:                                        `{"name":"a","description":"\u00e9 \"ui\"","_meta":{"ui2":{"ui":1}}}`,
		`{"name":"a","inputSchema":{"type":"object","properties":{"ui":{}}},"description":"C:\\users","_meta":null}`: `{"name":"a","inputSchema":{"type":"object","properties":{"ui":{}}},"description":"C:\\users","_meta":null}`,
	} {
		checkEqual(t, tool, string(withoutApps([]byte(`{"tools":[`+tool+`]}`))), `{"tools":[`+want+`]}`)
	}
}
