package bridge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
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
	for _, cold := range []bool{false, true} {
		s.bridge.fastPathDisabled = cold
		for path, titled := range map[string]bool{"/mcp": true, "/s/files/mcp": false} {
			legacy := onlyMessage(t, s.post(path, list, s.openSession(path, `{}`)...))
			modern := onlyMessage(t, s.modern(path, "tools/list", "", ""))
			for era, got := range map[core.Era]string{core.Legacy: legacy, core.Modern: modern} {
				if strings.Contains(got, `"title":"files: read"`) != titled || !strings.Contains(got, `9007199254740993`) {
					t.Errorf("%s %s: %s", path, era, got)
				}
			}
		}
	}
	mode = "off"
	if got := onlyMessage(t, s.modern("/mcp", "tools/list", "", "")); strings.Contains(got, `"files: read"`) {
		t.Errorf("off: %s", got)
	}
	mode = "title"
	s.registry.Set("late", "Late one", mathCatalog())
	if got := onlyMessage(t, s.modern("/mcp", "tools/list", "", "")); !strings.Contains(got, `"title":"Late one: add"`) {
		t.Errorf("a server that came later: %s", got)
	}
}

func TestInstructionsOfLaterServersAreIncluded(t *testing.T) {
	s := newFixture(t, nil)
	initialize := func() string {
		return onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`))
	}
	if got := initialize(); !strings.Contains(got, `# files\n\nRead before you write.\n\n# math\n\nNumbers only.`) {
		t.Error(got)
	}
	later := mathCatalog()
	later.Instructions = "I came late."
	s.registry.Set("late", "", later)
	if got := initialize(); !strings.Contains(got, `# late\n\nI came late.`) {
		t.Error(got)
	}
	if got := onlyMessage(t, s.modern("/mcp", "server/discover", "", "")); !strings.Contains(got, `I came late.`) {
		t.Error(got)
	}
}

func TestBuiltinServerIsListedOnRequest(t *testing.T) {
	own := registry.New(registry.Options{})
	own.Set("drawbridge", "Drawbridge", &core.Catalog{
		Tools:        []core.Item{{Name: "status", Raw: json.RawMessage(`{"name":"status","inputSchema":{"type":"object"}}`)}},
		Capabilities: json.RawMessage(`{"tools":{}}`),
	})
	joined := false
	s := newFixture(t, nil, func(o *Options) { o.Builtin, o.BuiltinTools = own, func() bool { return joined } })
	if got := onlyMessage(t, s.modern("/s/drawbridge/mcp", "tools/list", "", "")); !strings.Contains(got, `"name":"status"`) {
		t.Error(got)
	}
	call := func(path, name string) *core.Call {
		onlyMessage(t, s.modern(path, "tools/call", name, `"name":"`+name+`"`))
		return s.gateway.last()
	}
	if c := call("/s/drawbridge/mcp", "status"); c.Server != "drawbridge" || c.Name != "status" {
		t.Errorf("%+v", c)
	}
	for _, joined = range []bool{false, true} {
		if got := onlyMessage(t, s.modern("/mcp", "tools/list", "", "")); strings.Contains(got, `"name":"drawbridge__status"`) != joined {
			t.Errorf("joined %v: %s", joined, got)
		}
		if c := call("/mcp", "drawbridge__status"); (c.Server == "drawbridge") != joined {
			t.Errorf("joined %v: %+v", joined, c)
		}
	}
}

func TestServerEndpointAcceptsItsName(t *testing.T) {
	s := newFixture(t, nil)
	s.registry.Set("my-server", "my server", mathCatalog())
	for _, path := range []string{"/s/my-server/mcp", "/s/my%20server/mcp", "/s/MY%20SERVER/mcp"} {
		if got := onlyMessage(t, s.modern(path, "tools/list", "", "")); !strings.Contains(got, `"tools":[{`) {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestClientSeesNamesOfItsMaximumLength(t *testing.T) {
	s := newFixture(t, nil, func(o *Options) {
		o.NameLimit = func(token string) int { return map[string]int{"wide": 64, "narrow": 20}[token] }
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
			if len(name) != size {
				t.Fatalf("%s %s: %q has %d characters", token, era, name, len(name))
			}
			if era == core.Legacy {
				continue
			}
			// Calls work under each name, and headers are compared with the arguments.
			params := `"name":"` + name + `","arguments":{"region":"eu"}`
			for region, status := range map[string]int{"eu": 200, "us": 400} {
				resp := s.modern("/mcp", "tools/call", name, params, ClientHeader, token, "Mcp-Param-Region", region)
				if got := onlyMessage(t, resp); resp.StatusCode != status {
					t.Errorf("%s %s: %s %s", token, region, resp.Status, got)
				}
			}
			if call := s.gateway.last(); call.Name != long || call.Server != "files" {
				t.Errorf("%s: called %+v", token, call)
			}
		}
	}
}
