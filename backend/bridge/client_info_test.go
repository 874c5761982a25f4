package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestClientIsIdentifiedByItsClientInfo(t *testing.T) {
	s := newFixture(t, nil)
	s.openSession("/mcp", allClientCapabilities, ClientHeader, "desk")
	s.modern("/s/math/mcp", "tools/list", "", "", ClientHeader, "desk")
	onlyMessage(t, s.modern("/mcp", "server/discover", "", "", ClientHeader, "other"))
	onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "other"))
	var got []string
	for _, p := range s.bridge.ClientInfos() {
		got = append(got, fmt.Sprintf("%s %s %s %s %s", p.Token, p.Name, p.Era, p.Protocol, p.Capabilities))
	}
	checkEqual(t, "peers", strings.Join(got, "\n"), strings.Join([]string{
		"other probe modern 2026-07-28 {}", "desk probe modern 2026-07-28 {}", "desk probe legacy 2025-11-25 " + allClientCapabilities,
	}, "\n"))
}

func TestRememberedClientsAreBounded(t *testing.T) {
	now := time.Unix(0, 0)
	b := New(Options{Now: func() time.Time { now = now.Add(1); return now }})
	for i := range 3 * maxClientInfos {
		b.recordClient(core.Client{Token: fmt.Sprint(i % (2 * maxClientInfos))}, core.Modern, core.ModernVersion, []byte(`{}`))
	}
	list := b.ClientInfos()
	if len(list) != maxClientInfos || list[0].Token != fmt.Sprint(maxClientInfos-1) {
		t.Errorf("%d peers, the newest %+v", len(list), list[0])
	}
	b.recordClient(core.Client{Version: "1"}, core.Modern, "", nil)
	if b.ClientInfos()[0].Version != "" {
		t.Error("a client without a name is remembered")
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

func TestFirstRequestMustBeInitialize(t *testing.T) {
	s := newFixture(t, nil)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///t/1"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		resp := s.post("/mcp", body)
		if got := onlyMessage(t, resp); resp.StatusCode != 400 || !strings.Contains(got, `"code":-32600`) || !strings.Contains(got, "send initialize first") {
			t.Errorf("%s: %s %s", body, resp.Status, got)
		}
	}
	if resp := s.post("/mcp", ping); resp.StatusCode != 200 {
		t.Errorf("ping: %s", resp.Status)
	}
	if len(s.gateway.seen) != 0 {
		t.Errorf("reached the gateway: %+v", s.gateway.last())
	}
}

func TestSubscriptionsAreOfferedWhereAServerHasThem(t *testing.T) {
	s := newFixture(t, nil)
	offered := func() bool {
		legacy := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`))
		modern := onlyMessage(t, s.modern("/mcp", "server/discover", "", ""))
		const mark = `"subscribe":true`
		if strings.Contains(legacy, mark) != strings.Contains(modern, mark) {
			t.Errorf("the eras differ:\n%s\n%s", legacy, modern)
		}
		if !strings.Contains(legacy, `"resources":{`) {
			t.Errorf("no resources: %s", legacy)
		}
		return strings.Contains(legacy, mark)
	}
	if !offered() {
		t.Error("not offered, though files has them")
	}
	s.registry.Set("files", "files", mathCatalog())
	if offered() {
		t.Error("offered, though no server has them")
	}
	s.registry.Set("files", "files", filesCatalog())
	if !offered() {
		t.Error("not offered any more")
	}
}

func TestRequestWithInvalidUTF8IsMarked(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/mcp", `{}`)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","arguments":{"a":"x`+"\xff"+`"}}}`, h...))
	if call := s.gateway.last(); !call.Repaired || !strings.Contains(string(call.Params), "x\uFFFD") {
		t.Errorf("%+v", call)
	}
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...))
	if s.gateway.last().Repaired {
		t.Error("sound text is marked")
	}
}

func TestTooManySessionsIsAlwaysReported(t *testing.T) {
	s := newFixture(t, nil, func(o *Options) { o.MaxSessions = 1 })
	s.request("GET", "/mcp", "", s.openSession("/mcp", `{}`)...) // in use, so it must not be evicted
	for range 50 {
		got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		if !strings.Contains(got, "too many open sessions") {
			t.Fatal(got)
		}
	}
}
