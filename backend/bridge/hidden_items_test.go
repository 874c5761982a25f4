package bridge

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A folder that is bound to a deleted profile shows nothing, rather than everything.
func TestFolderOfDeletedProfileShowsNoTools(t *testing.T) {
	s := newProfileFixture(t)
	lost := []string{ClientHeader, "free", WorkspaceHeader, base64.RawURLEncoding.EncodeToString([]byte(absolute("/lost")))}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"} {
		answer := strings.Join(messages(s, s.modern("/mcp", method, "", "", lost...)), "")
		if s.expectUnknown(method, answer); strings.Contains(answer, "inside") {
			t.Errorf("%s: %s", method, answer)
		}
	}
	s.modern("/mcp", "tools/call", "in__do", `"name":"in__do","arguments":{}`, lost...)
	assert.Empty(t, s.gateway.last().Server, "a call reached")
}

// A hidden tool is reported like one that does not exist, in every form of request, including
// requests without the headers that the tool requires.
func TestHiddenToolIsReportedAsUnknown(t *testing.T) {
	for _, unusual := range [][]string{nil, {"Last-Event-ID", "1"}, {"Mcp-Param-R", "other"}} {
		s := newProfileFixture(t)
		ask := func(name string, from ...string) string {
			resp := s.modern("/mcp", "tools/call", name, `"name":"`+name+`","arguments":{"r":"x"}`, append(from, unusual...)...)
			return resp.Status + " " + strings.ReplaceAll(strings.Join(messages(s, resp), ""), name, "NAME")
		}
		if unusual == nil { // a client that sees the tool must send its headers, even though a bound client came first
			s.modern("/mcp", "tools/call", "in__do", `"name":"in__do"`, ClientHeader, "bound")
		}
		seen := s.modern("/mcp", "tools/call", "out__hide", `"name":"out__hide","arguments":{"r":"x"}`, ClientHeader, "free")
		assert.Equal(t, http.StatusBadRequest, seen.StatusCode, unusual)
		nowhere := ask("nowhere__do", ClientHeader, "bound")
		if c := s.gateway.last(); c != nil && c.HiddenBy != "" {
			t.Errorf("what does not exist is hidden by %q", c.HiddenBy)
		}
		for _, name := range []string{"out__hide", "in__hide", "out__do"} {
			checkEqual(t, name, ask(name, ClientHeader, "bound"), nowhere)
			if c := s.gateway.last(); unusual == nil && c.HiddenBy != "p" { // for the user
				t.Errorf("%s is hidden by %q", name, c.HiddenBy)
			}
		}
	}
}

func TestUnknownToolIsCalledLikeTheNearestAlsoIfItIsHidden(t *testing.T) {
	s := newProfileFixture(t)
	c := markedCatalog("inside", "in")
	c.Tools = append(c.Tools, core.Item{Name: "dot", Raw: []byte(`{"name":"dot","inputSchema":{"type":"object"}}`)})
	s.registry.Set("in", "", c)
	s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"in": {Tools: config.Filter{Exclude: []string{"dot"}}}}})
	for _, name := range []string{"in__dot", "in__dox"} {
		s.modern("/mcp", "tools/call", name, `"name":"`+name+`","arguments":{}`, ClientHeader, "bound")
		assert.Equal(t, "in__do", s.gateway.last().Similar, name)
	}
	s.modern("/mcp", "tools/call", "nowhere", `"name":"nowhere","arguments":{}`, ClientHeader, "bound")
	assert.Empty(t, s.gateway.last().Similar)
}

// A request in which a value is written in an unusual way reveals no more about a hidden tool than
// about a tool that does not exist.
func TestUnusualSpellingRevealsNoHiddenTool(t *testing.T) {
	s := newProfileFixture(t)
	ask := func(name, token string) (int, string) {
		body := strings.Replace(modernBody("tools/call", `"name":"`+name+`","arguments":{"r":"x"}`), `"2026-07-28"`, `"2026\u002d07-28"`, 1)
		resp := s.post("/mcp", body, versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, name, ClientHeader, token)
		return resp.StatusCode, strings.ReplaceAll(strings.Join(messages(s, resp), ""), name, "NAME")
	}
	if status, got := ask("out__hide", "free"); status != http.StatusBadRequest {
		t.Errorf("%d %s: the headers of a tool are not compared", status, got)
	}
	status, nowhere := ask("nowhere__do", "bound")
	for _, name := range []string{"out__hide", "in__hide", "out__do"} {
		n, got := ask(name, "bound")
		assert.Truef(t, n == status && got == nowhere, "%s: %d %s, and what does not exist %d %s", name, n, got, status, nowhere)
	}
}

// describe_tools describes only what the client sees.
func TestInstructionsListOnlyServersOfTheProfile(t *testing.T) {
	s := newProfileFixture(t)
	s.gateway.answer = answerLocally
	s.setProfiles(config.Profile{Name: "p", ToolMode: config.ToolsDeferred, Servers: map[string]config.ProfileServer{"in": {Tools: config.Filter{Exclude: []string{"hide"}}}}})
	s.expectUnknown("the list", onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, "bound")))
	for _, name := range []string{"out__do", "in__hide", "late__any"} {
		answer := s.callTool(core.Modern, "bound", "describe_tools", `{"names":["`+name+`"]}`)
		if s.expectUnknown(name, answer); !strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s is described: %s", name, answer)
		}
	}
	assert.Contains(t, textOf(t, s.callTool(core.Modern, "bound", "describe_tools", `{"names":["in__do"]}`)), "inside")
}

// Hidden resources cannot be subscribed to, in either era.
func TestProfileHidesOtherResourcesFromSubscription(t *testing.T) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		s := newProfileFixture(t)
		for _, uri := range []string{"out://doc", "out://t/1"} {
			cs := s.connectAs("/mcp", era, "bound", &mcp.ClientOptions{})
			_ = cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}) // refused, or without effect
		}
		cs := s.connectAs("/mcp", era, "bound", &mcp.ClientOptions{})
		require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "in://doc"}))
		eventually.True(t, "what is inside is subscribed to", func() bool {
			c := s.gateway.last()
			return c != nil && c.Method == "resources/subscribe" && c.Server == "in"
		})
		s.gateway.mu.Lock()
		for _, c := range s.gateway.seen {
			assert.NotEqual(t, "out", c.Server, era)
		}
		s.gateway.mu.Unlock()
	}
}

// A suspended call is resumed only if its client still sees the tool in the same way.
func TestSuspendedCallEndsWhenClientLosesVisibility(t *testing.T) {
	for what, edit := range map[string]func(*fixture){
		"bound elsewhere": func(s *fixture) {
			s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"free": {Profile: "p"}}})
		},
		"bound to the same": func(s *fixture) {
			s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"free": {Profile: "q"}}})
		},
		"unknown": func(s *fixture) { s.bridge.SetVisibility(Visibility{Unknown: "mend it"}) },
	} {
		t.Run(what, func(t *testing.T) {
			s := newProfileFixture(t)
			s.gateway.answer = askingServer
			ask := s.newSuspendableCall("out__do", "free")
			state := s.requestState(ask(""))
			edit(s)
			assert.NotContains(t, ask(answers+`,"requestState":"`+state+`",`), `"got"`)
		})
	}
	s := newProfileFixture(t)
	ended := make(chan error, 1)
	s.gateway.answer = func(ctx context.Context, c *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		reply, err := askingServer(ctx, c, sink)
		ended <- err
		return reply, err
	}
	ask := s.newSuspendableCall("in__do", "bound")
	state := s.requestState(ask(""))
	s.setProfiles(config.Profile{Name: "p", Servers: map[string]config.ProfileServer{"in": {Tools: config.Filter{Exclude: []string{"do"}}}}})
	got := ask(answers + `,"requestState":"` + state + `",`)
	assert.Truef(t, !strings.Contains(got, `"got"`) && len(s.gateway.seen) == 1, "the tool was taken out of the profile: %s", got)
	eventually.Receive(t, 30*time.Second, "its server goes on waiting", ended)
}

// newSuspendableCall returns a function that calls a tool as a modern client with all capabilities.
func (s *fixture) newSuspendableCall(name, token string) func(params string) string {
	return func(params string) string {
		return strings.Join(messages(s, s.modernAs(allClientCapabilities, "/mcp", "tools/call", name, params+`"name":"`+name+`","arguments":{}`, ClientHeader, token)), "")
	}
}
