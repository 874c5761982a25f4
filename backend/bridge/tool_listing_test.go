package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestToolListingNamesItsServer(t *testing.T) {
	for _, c := range []struct{ mode, raw, want string }{
		{"title", `{"name":"files__read","inputSchema":{"n":1.0}}`, `{"name":"files__read","title":"Files: read","inputSchema":{"n":1.0}}`},
		{"title", `{"title":"Read","name":"files__read","v":9007199254740993}`, `{"title":"Files: Read","name":"files__read","v":9007199254740993}`},
		{"title", `{"annotations":{"title":"Old"},"name":"x"}`, `{"annotations":{"title":"Files: Old"},"name":"x","title":"Files: Old"}`},
		{"title", `{"annotations":{"title":"Old","readOnlyHint":true},"name":"x","title":"New"}`, `{"annotations":{"title":"Files: Old","readOnlyHint":true},"name":"x","title":"Files: New"}`},
		{"title", `{"name":"x","title":null,"annotations":null}`, `{"name":"x","title":"Files: read","annotations":null}`},
		{"description", `{"name":"x","description":"Reads \"it\"","title":"T"}`, `{"name":"x","description":"[Files] Reads \"it\"","title":"T"}`},
		{"description", `{"name":"x"}`, `{"name":"x","description":"[Files]"}`},
		{"off", `{"name":"x"}`, `{"name":"x"}`},
	} {
		item := registry.Item{Public: "x", Target: registry.Target{Name: "read", Raw: json.RawMessage(c.raw)}}
		checkEqual(t, c.mode+" "+c.raw, string(annotateTool(item, c.mode, "Files")), c.want)
	}
}

func TestOnlySharedEndpointDescribesServers(t *testing.T) {
	mode := "title"
	s := newFixture(t, nil, func(o *Options) { o.DescribeServer = func() string { return mode } })
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for path, titled := range map[string]bool{"/mcp": true, "/s/files/mcp": false} {
		legacy := onlyMessage(t, s.post(path, list, s.openSession(path, `{}`)...))
		modern := onlyMessage(t, s.modern(path, "tools/list", "", ""))
		for era, got := range map[core.Era]string{core.Legacy: legacy, core.Modern: modern} {
			assert.Equalf(t, titled, strings.Contains(got, `"title":"files: read"`), "%s %s", path, era)
			assert.Containsf(t, got, `9007199254740993`, "%s %s", path, era)
		}
	}
	mode = "off"
	assert.NotContains(t, onlyMessage(t, s.modern("/mcp", "tools/list", "", "")), `"files: read"`)
	mode = "title"
	s.registry.Set("late", "Late one", mathCatalog())
	assert.Contains(t, onlyMessage(t, s.modern("/mcp", "tools/list", "", "")), `"title":"Late one: add"`, "a server that came later")
}

func TestInstructionsOfLaterServersAreIncluded(t *testing.T) {
	s := newFixture(t, nil)
	initialize := func() string {
		return onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`))
	}
	assert.Contains(t, initialize(), `# files\n\nRead before you write.\n\n# math\n\nNumbers only.`)
	later := mathCatalog()
	later.Instructions = "I came late."
	s.registry.Set("late", "", later)
	assert.Contains(t, initialize(), `# late\n\nI came late.`)
	assert.Contains(t, onlyMessage(t, s.modern("/mcp", "server/discover", "", "")), `I came late.`)
}

func TestBuiltinServerIsListedOnRequest(t *testing.T) {
	own := registry.New(registry.Options{})
	own.Set("drawbridge", "Drawbridge", &core.Catalog{
		Tools:        []core.Item{{Name: "status", Raw: json.RawMessage(`{"name":"status","inputSchema":{"type":"object"}}`)}},
		Capabilities: json.RawMessage(`{"tools":{}}`),
	})
	joined := false
	s := newFixture(t, nil, func(o *Options) { o.Builtin, o.BuiltinTools = own, func() bool { return joined } })
	assert.Contains(t, onlyMessage(t, s.modern("/s/drawbridge/mcp", "tools/list", "", "")), `"name":"status"`)
	call := func(path, name string) *core.Call {
		onlyMessage(t, s.modern(path, "tools/call", name, `"name":"`+name+`"`))
		return s.gateway.last()
	}
	c := call("/s/drawbridge/mcp", "status")
	assert.Truef(t, c.Server == "drawbridge" && c.Name == "status", "%+v", c)
	for _, joined = range []bool{false, true} {
		assert.Equal(t, joined, strings.Contains(onlyMessage(t, s.modern("/mcp", "tools/list", "", "")), `"name":"drawbridge__status"`))
		assert.Equal(t, joined, call("/mcp", "drawbridge__status").Server == "drawbridge")
	}
}

func TestServerEndpointAcceptsItsName(t *testing.T) {
	s := newFixture(t, nil)
	s.registry.Set("my-server", "my server", mathCatalog())
	for _, path := range []string{"/s/my-server/mcp", "/s/my%20server/mcp", "/s/MY%20SERVER/mcp"} {
		assert.Contains(t, onlyMessage(t, s.modern(path, "tools/list", "", "")), `"tools":[{`, path)
	}
}

func TestClientSeesNamesOfItsMaximumLength(t *testing.T) {
	s := newFixture(t, nil, func(o *Options) {
		o.Limits = func(token string) ClientLimits {
			return ClientLimits{Name: map[string]int{"wide": 64, "narrow": 20}[token]}
		}
	})
	long := "marked_" + strings.Repeat("x", 40)
	catalog := filesCatalog()
	catalog.Tools[1].Name = long
	catalog.Tools[1].Raw = []byte(strings.Replace(string(catalog.Tools[1].Raw), `"marked"`, `"`+long+`"`, 1))
	s.registry.Set("files", "files", catalog)
	for token, size := range map[string]int{"wide": 54, "narrow": 20, "usual": 46} {
		for _, era := range []core.Era{core.Legacy, core.Modern} {
			var list string
			if era == core.Modern {
				list = onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, token))
			} else {
				list = onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, s.openSession("/mcp", `{}`, ClientHeader, token)...))
			}
			_, name, _ := strings.Cut(list, `{"name":"files__mark`)
			name, _, _ = strings.Cut("files__mark"+name, `"`)
			require.Truef(t, len(name) == size, "%s %s: %q has %d characters", token, era, name, len(name))
			if era == core.Legacy {
				continue
			}
			// Calls work under each name, and headers are compared with the arguments.
			params := `"name":"` + name + `","arguments":{"region":"eu"}`
			for region, status := range map[string]int{"eu": 200, "us": 400} {
				resp := s.modern("/mcp", "tools/call", name, params, ClientHeader, token, "Mcp-Param-Region", region)
				got := onlyMessage(t, resp)
				assert.Equalf(t, status, resp.StatusCode, "%v %v %v", token, region, got)
			}
			call := s.gateway.last()
			assert.Truef(t, call.Name == long && call.Server == "files", "%s: called %+v", token, call)
		}
	}
}

// setToolModes gives each token that is named after a tool mode that mode.
func (s *fixture) setToolModes() {
	s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"search": {ToolMode: ToolsSearch}, "deferred": {ToolMode: ToolsDeferred}, "odd": {ToolMode: "odd"}}})
}

func (s *fixture) callTool(era core.Era, token, name, arguments string) string {
	s.Helper()
	params := `"name":"` + name + `","arguments":` + arguments
	if era == core.Modern {
		return strings.Join(messages(s, s.modern("/mcp", "tools/call", name, params, ClientHeader, token)), "")
	}
	session := s.openSession("/mcp", `{}`, ClientHeader, token)
	return strings.Join(messages(s, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`,"_meta":{"progressToken":9}}}`, session...)), "")
}

// textOf returns the text of a tool result.
func textOf(t testing.TB, answer string) string {
	t.Helper()
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &m), "no result")
	require.Len(t, m.Result.Content, 1, "no result")
	return m.Result.Content[0].Text
}

// At the endpoint of one server, a mode that would not make its list shorter lists all tools, and so does auto:
// the names of tools stay, and with them the permissions that a client has for them.
func TestToolModeAppliesAtTheEndpointOfOneServer(t *testing.T) {
	s := newFixture(t, func(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		if c.Local != nil {
			return c.Local(t.Context()), nil
		}
		return core.Reply{Result: textReply("%s of %s", c.Name, c.Server)}, nil
	})
	many := &core.Catalog{}
	for i := range 60 {
		raw := fmt.Sprintf(`{"name":"tool_%d","description":"Sends message %d.  %s","inputSchema":{"type":"object"}}`, i, i, strings.Repeat("x", 800))
		many.Tools = append(many.Tools, core.Item{Name: fmt.Sprintf("tool_%d", i), Raw: json.RawMessage(raw)})
	}
	s.registry.Set("math", "math", many)
	s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"search": {ToolMode: ToolsSearch}, "deferred": {ToolMode: ToolsDeferred}, "auto": {ToolMode: ToolsAuto}}})
	listed := func(path, client string) string {
		return onlyMessage(t, s.modern(path, "tools/list", "", "", ClientHeader, client))
	}
	assert.NotContains(t, listed("/s/math/mcp", "search"), `"tool_1"`)
	assert.Contains(t, listed("/s/math/mcp", "search"), "60 tools of math")
	assert.Contains(t, listed("/s/math/mcp", "deferred"), describeTools)
	for _, all := range [][2]string{{"files", "search"}, {"files", "deferred"}, {"math", "auto"}} { // files has few tools
		got := listed("/s/"+all[0]+"/mcp", all[1])
		assert.Equal(t, listed("/s/"+all[0]+"/mcp", "another"), got, all)
		assert.NotContains(t, got, findTools, all)
	}
	call := func(name, arguments string) string {
		return onlyMessage(t, s.modern("/s/math/mcp", "tools/call", name, `"name":"`+name+`","arguments":`+arguments, ClientHeader, "search"))
	}
	assert.Contains(t, call(findTools, `{"query":"send message 7"}`), "tool_7")
	assert.Contains(t, call(callTool, `{"name":"tool_7","arguments":{}}`), "tool_7 of math")
	assert.Contains(t, call("tool_8", `{}`), "tool_8 of math", "by its own name")
	assert.NotContains(t, call(findTools, `{"query":"read"}`), "files", "another server")
	assert.Contains(t, call(callTool, `{"name":"files__read","arguments":{}}`), `"error"`, "another server")
}

func TestToolSearchFindsAndCallsTools(t *testing.T) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		s := newFixture(t, func(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
			if c.Local != nil {
				return c.Local(t.Context()), nil
			}
			return core.Reply{Result: textReply("%s of %s with %s", c.Name, c.Server, c.Params[c.Arguments.Start:c.Arguments.End])}, nil
		})
		s.setToolModes()
		var list string
		if era == core.Modern {
			list = onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "search"))
		} else {
			session := s.openSession("/mcp", `{}`, ClientHeader, "search")
			list = onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, session...))
		}
		if strings.Count(list, `"inputSchema"`) != 2 || !strings.Contains(list, "find_tools") || !strings.Contains(list, "call_tool") || !strings.Contains(list, "files, math") {
			t.Errorf("the list is %s", list)
		}
		got := textOf(t, s.callTool(era, "search", "find_tools", `{"query":"add numbers"}`))
		assert.Truef(t, strings.HasPrefix(got, "math__add(...)"), "found %s", got)
		got = textOf(t, s.callTool(era, "search", "find_tools", `{"names":["math__add"]}`))
		assert.Truef(t, strings.HasPrefix(got, `{"name":"math__add"`), "defined as %s", got)
		if c := s.gateway.last(); c.Server != "drawbridge" || c.Name != "find_tools" || c.Local == nil {
			t.Errorf("recorded as %+v", c)
		}
		got = textOf(t, s.callTool(era, "search", "call_tool", `{"arguments":{"n":9007199254740993,"name":"x"},"name":"files__read"}`))
		assert.Equal(t, `read of files with {"n":9007199254740993,"name":"x"}`, got)
		c := s.gateway.last()
		if c.Server != "files" || c.Name != "read" || c.PublicName != "files__read" || c.Local != nil || strings.Contains(string(c.Params), "call_tool") {
			t.Errorf("the gateway saw %+v %s", c, c.Params)
		}
		if era == core.Legacy && string(c.Params[c.ProgressToken.Start:c.ProgressToken.End]) != "9" {
			t.Errorf("the progress token is %s", c.Params[c.ProgressToken.Start:c.ProgressToken.End])
		}
		assert.Equal(t, `add of math with {"a":1}`, textOf(t, s.callTool(era, "search", "call_tool", `{"name":"math__add","arguments":"{\"a\":1}"}`)))
		assert.Equal(t, `add of math with {}`, textOf(t, s.callTool(era, "search", "call_tool", `{"name":"math__add"}`)), "no arguments")
		for _, bad := range []string{`{}`, `{"name":5}`, `{"name":"math__add","arguments":[1]}`, `{"name":"math__add","arguments":"x"}`, `{"name":"math__add","name":"files__read"}`} {
			before := len(s.gateway.seen)
			if got := s.callTool(era, "search", "call_tool", bad); !strings.Contains(got, `"error"`) || len(s.gateway.seen) != before {
				t.Errorf("%s: %s", bad, got)
			}
		}
		// The built-in tools are not found by the search, and other clients do not have them.
		for _, name := range []string{"call_tool", "find_tools"} {
			s.callTool(era, "search", "call_tool", `{"name":"`+name+`","arguments":{}}`)
			if c := s.gateway.last(); c.Server != "" || c.Local != nil {
				t.Errorf("%s within call_tool leads to %+v", name, c)
			}
			s.callTool(era, "other", name, `{"query":"x","name":"math__add"}`)
			if c := s.gateway.last(); c.Server != "" || c.Local != nil {
				t.Errorf("%s of a client that lists all leads to %+v", name, c)
			}
		}
	}
}

func TestDeferredListingShowsNamesOnly(t *testing.T) {
	s := newFixture(t, answerLocally)
	s.setToolModes()
	s.registry.Set("math", "math", &core.Catalog{Tools: []core.Item{{Name: "add", Raw: json.RawMessage(
		`{"name":"add","description":"Adds two\n numbers. ` + strings.Repeat("More about it. ", 50) + `","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}},"annotations":{"readOnlyHint":true}}`)}}})
	list := onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "deferred"))
	for _, part := range []string{`{"name":"math__add","description":"Adds two numbers.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, `"files__read"`, `"describe_tools"`} {
		assert.Contains(t, list, part, "the list lacks")
	}
	assert.NotContains(t, list, "More about it", "the list is whole")
	got := textOf(t, s.callTool(core.Modern, "deferred", "describe_tools", `{"names":["math__add","files__read"]}`))
	assert.Truef(t, strings.Contains(got, `"properties":{"a"`) && strings.Contains(got, `9007199254740993`), "described as %s", got)
	assert.Equal(t, "add of math", textOf(t, s.callTool(core.Modern, "deferred", "math__add", `{}`)), "called by name")
	for _, bad := range []string{`{}`, `{"names":[]}`, `{"names":["nobody"]}`, `{"names":"math__add"}`} {
		assert.Contains(t, s.callTool(core.Modern, "deferred", "describe_tools", bad), `"isError":true`, bad)
	}
	assert.Contains(t, onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "odd")), "More about it", "an unknown mode hides tools")
}

// The search finds only tools of the profile, and call_tool calls no others.
func TestToolSearchStaysWithinProfile(t *testing.T) {
	s := newProfileFixture(t)
	s.gateway.answer = answerLocally
	s.setProfiles(config.Profile{Name: "p", ToolMode: config.ToolsSearch, Servers: map[string]config.ProfileServer{"in": {Tools: config.Filter{Exclude: []string{"hide"}}}}}, config.Profile{Name: "q"})
	s.expectUnknown("the list", onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "bound")))
	for _, query := range []string{`{"query":"OUTSIDE do hide ask"}`, `{"query":"out__do"}`, `{"query":"","server":"out"}`, `{"query":"hide","limit":20}`} {
		answer := s.callTool(core.Modern, "bound", "find_tools", query)
		s.expectUnknown(query, answer)
		assert.NotContains(t, answer, "out__", query)
		assert.NotContains(t, answer, "in__hide", query)
	}
	for _, name := range []string{"out__do", "in__hide", "late__any"} {
		s.callTool(core.Modern, "bound", "call_tool", `{"name":"`+name+`","arguments":{}}`)
		assert.Empty(t, s.gateway.last().Server, name)
	}
	assert.Equal(t, "do of in", textOf(t, s.callTool(core.Modern, "bound", "call_tool", `{"name":"in__do","arguments":{}}`)))
}

// recorder collects the recorded calls.
type recorder struct{ calls []core.Call }

func (r *recorder) Record(c *core.Call, _ core.Reply) { r.calls = append(r.calls, *c) }

type noServer struct{}

func (noServer) For(context.Context, *core.Call) (gateway.Upstream, error) {
	return nil, core.Errorf(core.CodeUnavailable, "no server runs")
}

// call_tool cannot bypass the policy: the real policy refuses the real tool, and the record names
// it.
func TestPolicySeesToolBehindCallTool(t *testing.T) {
	s := newFixture(t, nil)
	s.setToolModes()
	c, problems := config.Parse("c.json", []byte(`{"mcpServers":{"math":{"command":"m","tools":{"add":{"approval":"deny"}}},"files":{"command":"f","excludeTools":["read"]}}}`))
	require.True(t, c != nil && len(problems) <= 0, problems)
	rules := policy.New(policy.Options{Views: s.registry})
	rules.Apply(c)
	records := &recorder{}
	s.bridge.Gateway = gateway.New(gateway.Options{Upstreams: noServer{}, Policy: rules, Recorder: records, Bus: new(core.Bus)})
	for _, name := range []string{"math__add", "files__read"} {
		s.callTool(core.Modern, "search", name, `{}`)
		s.callTool(core.Modern, "search", "call_tool", `{"name":"`+name+`","arguments":{}}`)
	}
	s.callTool(core.Modern, "search", "find_tools", `{"query":"add"}`)
	require.Len(t, records.calls, 5)
	for i := 0; i < 4; i += 2 {
		a, b := records.calls[i], records.calls[i+1]
		if a.Outcome != core.OutcomeRejected || a.Outcome != b.Outcome || a.Code != b.Code || a.Reason != b.Reason || a.Server != b.Server || a.Name != b.Name || a.PublicName != b.PublicName {
			t.Errorf("by name:       %+v\nby call_tool: %+v", a, b)
		}
	}
	f := records.calls[4]
	assert.Truef(t, f.Outcome == core.OutcomeOK && f.Server == "drawbridge" && f.Name == "find_tools", "%+v", f)
}

// No arguments make unwrapCallTool panic or forward arguments that are not an object.
func FuzzUnwrapCallTool(f *testing.F) {
	for _, seed := range []string{`{"name":"call_tool","arguments":{"name":"a","arguments":{}}}`, `{"arguments":{"arguments":"{}","name":"b"},"name":"call_tool","_meta":{}}`, `{"name":"call_tool"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		m, err := parseMessage(append(append([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`), params...), '}'))
		if err != nil || len(m.rawParams()) == 0 || m.rawParams()[0] != '{' {
			return
		}
		rq := &request{endpoint: endpoint{toolMode: ToolsSearch}, method: "tools/call", params: m.rawParams(), spans: &m.params}
		got, failed := unwrapCallTool(rq)
		if failed != nil || got == rq {
			return
		}
		if args := got.params[got.spans.Arguments.Start:got.spans.Arguments.End]; !json.Valid(got.params) || len(args) == 0 || args[0] != '{' || calledName(got) == "" {
			t.Fatalf("%s became %s", params, got.params)
		}
	})
}
