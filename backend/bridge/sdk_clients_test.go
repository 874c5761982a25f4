package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connectSDK connects a go-sdk client in one era.
func (s *fixture) connectSDK(path string, era core.Era, o *mcp.ClientOptions) *mcp.ClientSession {
	s.Helper()
	return s.connect(path, era, "", mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, o))
}

// connect connects client to path. Its requests carry token unless it is "".
func (s *fixture) connect(path string, era core.Era, token string, client *mcp.Client) *mcp.ClientSession {
	s.Helper()
	version := map[core.Era]string{core.Legacy: core.LegacyVersion, core.Modern: core.ModernVersion}[era]
	transport := &mcp.StreamableClientTransport{Endpoint: s.srv.URL + path}
	if token != "" {
		transport.HTTPClient = &http.Client{Transport: bearer(token)}
	}
	cs, err := client.Connect(s.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = cs.Close() })
	return cs
}

func TestRealClientsOfBothEras(t *testing.T) {
	s := newFixture(t, func(_ context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		switch call.Method {
		case "prompts/get":
			return core.Reply{Result: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"text","text":"` + call.Name + `"}}]}`)}, nil
		case "resources/read":
			return core.Reply{Result: json.RawMessage(`{"contents":[{"uri":"` + call.Name + `","text":"t"}]}`)}, nil
		case "completion/complete":
			return core.Reply{Result: json.RawMessage(`{"completion":{"values":["v"]}}`)}, nil
		case "resources/subscribe", "resources/unsubscribe":
			return core.Reply{Result: json.RawMessage(`{}`)}, nil
		}
		sink.Notify("notifications/progress", json.RawMessage(`{"progressToken":`+string(call.Params[call.ProgressToken.Start:call.ProgressToken.End])+`,"progress":1}`))
		return core.Reply{Result: textReply("%s of %s", call.Name, call.Server)}, nil
	})
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		t.Run(string(era), func(t *testing.T) {
			ctx := t.Context()
			progress := make(chan any, 10)
			cs := s.connectSDK("/mcp", era, &mcp.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
					progress <- r.Params.ProgressToken
				},
			})
			tools, err := cs.ListTools(ctx, nil)
			require.Truef(t, err == nil && len(tools.Tools) == 3 && tools.Tools[0].Name == "files__read", "tools: %v %+v", err, tools)
			for _, name := range []string{"math__add", "files__marked"} {
				p := &mcp.CallToolParams{Name: name, Arguments: map[string]any{"region": "eu"}}
				p.SetProgressToken("mine")
				res, err := cs.CallTool(ctx, p)
				require.NoError(t, err, name)
				got := res.Content[0].(*mcp.TextContent).Text
				assert.Truef(t, strings.HasPrefix(got, strings.SplitN(name, "__", 2)[1]+" of "), "%s: %s", name, got)
				token := eventually.Receive(t, time.Minute, "no progress", progress)
				assert.Truef(t, token == "mine", "token %v", token)
			}
			p, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "files__ask"})
			assert.Truef(t, err == nil && p.Messages[0].Content.(*mcp.TextContent).Text == "ask", "prompt: %v", err)
			r, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///t/1"})
			assert.Truef(t, err == nil && r.Contents[0].Text == "t", "resource: %v", err)
			c, err := cs.Complete(ctx, &mcp.CompleteParams{Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "files__ask"}, Argument: mcp.CompleteParamsArgument{Name: "a", Value: "v"}})
			assert.Truef(t, err == nil && c.Completion.Values[0] == "v", "completion: %v", err)
			if r, err := cs.ListResourceTemplates(ctx, nil); err != nil || len(r.ResourceTemplates) != 1 {
				t.Errorf("templates: %v", err)
			}
			assert.Equal(t, "sdk", s.gateway.last().Client.Name)
			if era == core.Modern {
				return
			}
			assert.NoError(t, cs.Subscribe(ctx, &mcp.SubscribeParams{URI: "file:///t/1"}))
			got := s.gateway.last()
			assert.Truef(t, got.Method == "resources/subscribe" && got.Client.Name == "sdk" && got.Session != "", "a subscription is recorded as %+v", got)
		})
	}
}

func TestCapabilitiesAndInstructionsFollowTheEndpoint(t *testing.T) {
	s := newFixture(t, nil)
	discover := func(path string) map[string]json.RawMessage {
		t.Helper()
		var m struct{ Result map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(onlyMessage(t, s.modern(path, "server/discover", "", ""))), &m))
		return m.Result
	}
	all := discover("/mcp")
	checkEqual(t, "instructions", string(all["instructions"]), `"# files\n\nRead before you write.\n\n# math\n\nNumbers only."`)
	for _, has := range []string{`"tools":{"listChanged":true}`, `"prompts":{"listChanged":true}`, `"resources":{"listChanged":true,"subscribe":true}`, `"completions":{}`, `"logging":{}`} {
		assert.Contains(t, string(all["capabilities"]), has)
	}
	math := discover("/s/math/mcp")
	checkEqual(t, "capabilities", string(math["capabilities"]), `{"tools":{"listChanged":true}}`)
	checkEqual(t, "instructions", string(math["instructions"]), `"Numbers only."`)
	files := s.connectSDK("/s/files/mcp", core.Legacy, nil).InitializeResult()
	if files.Instructions != "Read before you write." || files.Capabilities.Experimental["x"] == nil || files.Capabilities.Logging != nil || !files.Capabilities.Resources.Subscribe {
		t.Errorf("%+v", files)
	}
}

func TestPanicBecomesError(t *testing.T) {
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) { panic("boom") })
	got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, s.openSession("/mcp", `{}`)...))
	assert.Contains(t, got, "-32603")
	assert.NotContains(t, got, "boom")
}

func TestListenerIsClosedOnShutdown(t *testing.T) {
	s := newFixture(t, nil)
	resp := s.modern("/mcp", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`)
	eventually.True(t, "listening", func() bool { return len(s.bridge.listeners.all()) > 0 })
	s.bridge.close()
	list := messages(t, resp)
	assert.Truef(t, len(list) == 2 && strings.Contains(list[0], "subscriptions/acknowledged") && strings.Contains(list[1], `"result"`), "%q", list)
	assert.Equal(t, http.StatusServiceUnavailable, s.post("/mcp", ping).StatusCode)
}

func TestListenersPerClientAreBounded(t *testing.T) {
	s := newFixture(t, nil, func(o *Options) { o.MaxStreams = 2 })
	var open []*http.Response
	for range 2 {
		open = append(open, s.modern("/mcp", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`))
	}
	assert.Equal(t, http.StatusTooManyRequests, s.modern("/mcp", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`).StatusCode)
	open[0].Body.Close()
	eventually.True(t, "a place is free", func() bool {
		s.bridge.streams.mu.Lock()
		defer s.bridge.streams.mu.Unlock()
		return s.bridge.streams.held[""] < 2
	})
}

func TestSubscriptionsAreOfferedWhereAServerHasThem(t *testing.T) {
	s := newFixture(t, nil)
	offered := func() bool {
		legacy := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`))
		modern := onlyMessage(t, s.modern("/mcp", "server/discover", "", ""))
		const mark = `"subscribe":true`
		assert.Equal(t, strings.Contains(modern, mark), strings.Contains(legacy, mark), "the eras differ")
		assert.Contains(t, legacy, `"resources":{`, "no resources")
		return strings.Contains(legacy, mark)
	}
	assert.True(t, offered(), "not offered, though files has them")
	s.registry.Set("files", "files", mathCatalog())
	assert.False(t, offered(), "offered, though no server has them")
	s.registry.Set("files", "files", filesCatalog())
	assert.True(t, offered(), "not offered any more")
}
