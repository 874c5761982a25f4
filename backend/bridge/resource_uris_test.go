package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newAccountsFixture returns a fixture with two accounts of one server. Their replies hold the URI
// board://1 everywhere where a client reads one, and in data that must not be changed.
func newAccountsFixture(t *testing.T) *fixture {
	s := newFixture(t, func(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		switch c.Method {
		case "resources/read":
			if c.Name == "board://none" {
				return core.Reply{Error: json.RawMessage(`{"code":-32002,"message":"not found","data":{"uri":"board://none","n":1.0}}`)}, nil
			}
			return core.Reply{Result: json.RawMessage(fmt.Sprintf(`{"contents":[ {"uri":%q,"text":"of %s board://1"}]}`, c.Name, c.Server))}, nil
		case "prompts/get":
			return core.Reply{Result: json.RawMessage(`{"messages":[{"role":"user","content":{"type":"resource","resource":{"text":"","uri":"board://1"}}}]}`)}, nil
		case "completion/complete":
			return core.Reply{Result: json.RawMessage(`{"completion":{"values":[]}}`)}, nil
		}
		return core.Reply{Result: json.RawMessage(`{"content":[{"uri":"board://1","type":"resource_link","n":1.0},{"type":"text","text":"board://1"},` +
			`{"type":"resource","resource":{"uri":"board:\/\/1"}},{"type":"vendor","uri":"board://1"},{"type":"resource_link","uri":"other://x"},5],` +
			`"structuredContent":{"uri":"board://1"},"_meta":{"ui":{"resourceUri":"ui://app"}}}`)}, nil
	})
	c := &core.Catalog{
		Tools:        []core.Item{{Name: "show", Raw: json.RawMessage(`{"name":"show","_meta":{"ui":{"resourceUri":"ui://app"}}}`)}},
		Prompts:      []core.Item{{Name: "ask", Raw: json.RawMessage(`{"name":"ask"}`)}},
		Resources:    []core.Item{{Name: "board://1", Raw: json.RawMessage(`{"uri":"board://1","name":"b"}`)}},
		Templates:    []core.Item{{Name: "board://{id}", Raw: json.RawMessage(`{"uriTemplate":"board://{id}","name":"t"}`)}},
		Capabilities: json.RawMessage(`{"tools":{},"resources":{"subscribe":true}}`),
	}
	s.registry.Configure("", []registry.Server{{ID: "home"}, {ID: "office"}})
	for _, id := range []string{"home", "office"} {
		s.registry.Set(id, "", c)
	}
	return s
}

// Each URI that a client gets leads back to the server that it came from, and nothing else of a
// result is changed.
func TestEachAccountIsReadUnderItsOwnURIs(t *testing.T) {
	s := newAccountsFixture(t)
	legacy := s.openSession("/mcp", `{}`)
	ask := func(method, name, params string) (string, *core.Call) {
		t.Helper()
		modern := onlyMessage(t, s.modern("/mcp", method, name, params))
		c := s.gateway.last()
		body := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`, legacy...))
		result := strings.TrimSuffix(body[strings.Index(body, `"id":1,`)+7:], "}")
		if method != "resources/read" && !strings.Contains(modern, strings.TrimSuffix(result, "}")) && !strings.Contains(result, "_meta") {
			t.Errorf("%s: the eras differ:\n%s\n%s", method, modern, result)
		}
		return result, c
	}
	for _, server := range []string{"home", "office"} { // the first one keeps the link that both return and nobody lists
		mark := map[string]string{"office": "office__"}[server]
		for _, id := range []string{"1", "2"} {
			got, c := ask("resources/read", "board://"+mark+id, `"uri":"board://`+mark+id+`"`)
			checkEqual(t, server, got, `"result":{"contents":[ {"uri":"board://`+mark+id+`","text":"of `+server+` board://1"}]}`)
			checkEqual(t, server, c.Name+" "+string(c.Params[:18])+" "+c.PublicName, "board://"+id+` {"uri":"board://`+id+`" board://`+mark+id)
		}
		got, _ := ask("resources/read", "board://"+mark+"none", `"uri":"board://`+mark+`none"`)
		checkEqual(t, server, got, `"error":{"code":-32002,"message":"not found","data":{"uri":"board://`+mark+`none","n":1.0}}`)
		if _, c := ask("resources/read", "ui://"+mark+"app", `"uri":"ui://`+mark+`app"`); c.Server != server || c.Name != "ui://app" {
			t.Errorf("the app of %s is read from %s as %s", server, c.Server, c.Name)
		}
		got, _ = ask("prompts/get", server+"__ask", `"name":"`+server+`__ask"`)
		checkEqual(t, server, got, `"result":{"messages":[{"role":"user","content":{"type":"resource","resource":{"text":"","uri":"board://`+mark+`1"}}}]}`)
		got, _ = ask("tools/call", server+"__show", `"name":"`+server+`__show","arguments":{}`)
		want := `"result":{"content":[{"uri":"board://` + mark + `1","type":"resource_link","n":1.0},{"type":"text","text":"board://1"},` +
			`{"type":"resource","resource":{"uri":"board://` + mark + `1"}},{"type":"vendor","uri":"board://1"},{"type":"resource_link","uri":"other://` + mark + `x"},5],` +
			`"structuredContent":{"uri":"board://1"},"_meta":{"ui":{"resourceUri":"ui://` + mark + `app"}}}`
		if mark == "" {
			want = strings.Replace(want, `"resource":{"uri":"board://`, `"resource":{"uri":"board:\/\/`, 1) // unchanged, byte for byte
		}
		checkEqual(t, server, got, want)
		_, c := ask("completion/complete", "", `"ref":{"type":"ref/resource","uri":"board://`+mark+`{id}"},"argument":{"name":"id","value":"9"}`)
		checkEqual(t, server, c.Server+" "+string(c.Params[:51]), server+` {"ref":{"type":"ref/resource","uri":"board://{id}"}`)
	}
	own := onlyMessage(t, s.post("/s/office/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show"}}`, s.openSession("/s/office/mcp", `{}`)...))
	assert.NotContains(t, own, "office__", "the server's own address changes URIs")
	assert.Contains(t, own, `board:\/\/1`, "the server's own address changes URIs")
}

// The requests of a task for input have the URIs that the client can read, and the client's answers
// those of the server, in every way in which a client answers.
func TestInputRequestsAndAnswersOfATaskHaveTheURIsOfTheirReader(t *testing.T) {
	const own, public, block = `board://1`, `board://office__1`, `{"role":"assistant","content":{"type":"resource_link","uri":"URI","n":1.0}}`
	s := newAccountsFixture(t)
	view := s.bridge.views.of(endpoint{}, "")
	for method, task := range map[string]string{
		"tasks/get":  `{"taskId":"1","status":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[` + block + `]}}}}`,
		"tools/call": `{"resultType":"task","inputRequests":{"k":{"method":"sampling/createMessage","params":{"messages":[` + block + `]}}}}`,
	} {
		got := withPublicURIs(view, method, "office", core.Reply{Result: []byte(strings.Replace(task, "URI", own, 1))})
		checkEqual(t, method, string(got.Result), strings.Replace(task, "URI", public, 1))
	}
	form := `"form":{"action":"accept","content":{"type":"resource_link","uri":"` + public + `"}}`
	answers := `"inputResponses":{"k":` + block + `,` + form + `},"requestState":"s"`
	params, answer := "", make(chan string, 1)
	s.gateway.answer = func(ctx context.Context, c *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		if params = string(c.Params); c.Era == core.Legacy {
			reply, err := sink.Ask(ctx, "sampling/createMessage", json.RawMessage(`{"messages":[]}`))
			answer <- string(reply.Result)
			return core.Reply{Result: json.RawMessage(`{}`)}, err
		}
		return core.Reply{Result: json.RawMessage(`{"messages":[]}`)}, nil
	}
	call := `"name":"office__ask","arguments":{"x":1.0},`
	onlyMessage(t, s.modern("/mcp", "prompts/get", "office__ask", call+strings.Replace(answers, "URI", public, 1)))
	want := `"arguments":{"x":1.0},` + strings.Replace(answers, "URI", own, 1)
	assert.Contains(t, params, want)
	session := s.openSession("/mcp", `{"sampling":{}}`)
	for m := range events(s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"office__show"}}`, session...).Body) {
		var ask struct{ ID any }
		if _ = json.Unmarshal([]byte(m), &ask); strings.Contains(m, `"sampling/createMessage"`) {
			s.post("/mcp", `{"jsonrpc":"2.0","id":"`+fmt.Sprint(ask.ID)+`","result":`+strings.Replace(block, "URI", public, 1)+`}`, session...)
		}
	}
	checkEqual(t, "the answer that a legacy server gets", <-answer, strings.Replace(block, "URI", own, 1))
}

// A server's request for sampling has the URIs that the client can read, in both eras and in the
// result of a modern server; text and arguments of tools are not changed.
func TestSamplingRequestsHavePublicURIs(t *testing.T) {
	const link, board = `{"type":"resource_link","uri":"URI","n":1.0}`, `board://1`
	const messages = `{"messages":[{"role":"user","content":` + link + `},{"role":"user","content":[{"type":"text","text":"board://1"},{"type":"tool_use","input":{"uri":"board://1"}},{"type":"tool_result","content":[` + link + `]}]}]}`
	params := strings.ReplaceAll(messages, "URI", board)
	s := newAccountsFixture(t)
	accounts := s.gateway.answer
	s.gateway.answer = func(ctx context.Context, c *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		switch c.Name {
		case "show":
			return sink.Ask(ctx, "sampling/createMessage", json.RawMessage(params))
		case "ask":
			return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{"k":{"method":"sampling/createMessage","params":` + params + `}}}`)}, nil
		}
		return accounts(ctx, c, sink)
	}
	for path, public := range map[string]string{"/mcp": "board://office__1", "/s/office/mcp": board} {
		want := strings.ReplaceAll(messages, "URI", public)
		prefix := map[string]string{"/mcp": "office__"}[path]
		for _, method := range [][2]string{{"tools/call", prefix + "show"}, {"prompts/get", prefix + "ask"}} {
			assert.Contains(t, onlyMessage(t, s.modernAs(`{"sampling":{}}`, path, method[0], method[1], `"name":"`+method[1]+`"`)), `"params":`+want)
		}
		session := s.openSession(path, `{"sampling":{}}`)
		for m := range events(s.post(path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+prefix+`show"}}`, session...).Body) {
			assert.Contains(t, m, `"sampling/createMessage","params":`+want, path)
			break
		}
		s.request("DELETE", path, "", session...)
	}
}

func TestServerIsSubscribedOnceForAllClients(t *testing.T) {
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(`{}`)}, nil
	})
	heard := make(chan string, 10)
	o := &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI }}
	a, b := s.connectSDK("/mcp", core.Legacy, o), s.connectSDK("/s/files/mcp", core.Legacy, o)
	for _, cs := range []*mcp.ClientSession{a, b} {
		require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///t/1"}))
	}
	const subscribed = "resources/subscribe file:///t/1\n"
	checkEqual(t, "after two", s.gateway.requests(), subscribed)
	n := 0
	eventually.True(t, "both are notified", func() bool { // the stream of a client may not be open yet
		s.bridge.ResourceUpdated("files", "", json.RawMessage(`{"uri":"file:///t/1"}`))
		select {
		case uri := <-heard:
			checkEqual(t, "uri", uri, "file:///t/1")
			n++
		case <-time.After(20 * time.Millisecond):
		}
		return n >= 2
	})
	require.NoError(t, a.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "file:///t/1"}))
	checkEqual(t, "after one left", s.gateway.requests(), subscribed)
	_ = b.Close() // disconnects without unsubscribing
	eventually.True(t, "unsubscribed", func() bool { return s.gateway.requests() == subscribed+"resources/unsubscribe file:///t/1\n" })
}

// Each account of a server, and each session that has a process of its own, has its own
// subscriptions: an update reaches only the clients of the process that sent it.
func TestUpdateReachesOnlySubscribersOfItsProcess(t *testing.T) {
	s := newFixture(t, nil, func(o *Options) {
		o.ProcessOf = func(c *core.Call) (string, error) {
			c.Account = c.Client.Token
			return "account of " + c.Client.Token, nil
		}
	})
	heard := map[string]chan string{"work": make(chan string, 100), "home": make(chan string, 100)}
	client := func(token string) *mcp.ClientSession {
		return s.connectAs("/mcp", core.Legacy, token, &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { heard[token] <- r.Params.URI }})
	}
	work, home := client("work"), client("home")
	for _, cs := range []*mcp.ClientSession{work, home} {
		require.NoError(t, cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///t/1"}))
	}
	checkEqual(t, "each account", s.gateway.requests(), "resources/subscribe file:///t/1 work\nresources/subscribe file:///t/1 home\n")
	for _, token := range []string{"home", "work"} {
		assert.True(t, len(heard["work"]) <= 0, "work hears of the updates of home")
		eventually.True(t, token+" is notified", func() bool { // the stream of a client may not be open yet
			s.bridge.ResourceUpdated("files", "account of "+token, json.RawMessage(`{"uri":"file:///t/1"}`))
			s.bridge.ResourceUpdated("files", "", json.RawMessage(`{"uri":"file:///t/1"}`)) // reaches nobody
			select {
			case <-heard[token]:
				return true
			case <-time.After(20 * time.Millisecond):
				return false
			}
		})
	}
	_ = home.Close()
	eventually.True(t, "unsubscribed", func() bool { return strings.HasSuffix(s.gateway.requests(), "unsubscribe file:///t/1 home\n") })
}

// subscriptions/listen acknowledges the resources that can be subscribed to, and goes on without
// the others.
func TestUnknownResourcesAreLeftOutOfTheAcknowledgement(t *testing.T) {
	s := newFixture(t, func(_ context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		if c.Name == "file:///t/refused" {
			return core.Reply{Error: json.RawMessage(`{"code":-32602,"message":"no"}`)}, nil
		}
		return core.Reply{Result: json.RawMessage(`{}`)}, nil
	})
	for n, uris := range []string{`"none://x","file:///t/1","file:///t/refused"`, `"none://x"`} {
		stream := s.modern("/mcp", "subscriptions/listen", "", `"notifications":{"toolsListChanged":true,"resourceSubscriptions":[`+uris+`]}`)
		ack := ""
		for ack = range events(stream.Body) {
			break
		}
		want := []string{`"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///t/1"]}`, `"notifications":{"toolsListChanged":true}`}[n]
		assert.Contains(t, ack, "subscriptions/acknowledged", uris)
		assert.Contains(t, ack, want, uris)
		stream.Body.Close()
	}
	eventually.True(t, "unsubscribed", func() bool { return s.gateway.last().Method == "resources/unsubscribe" })
	checkEqual(t, "requests", s.gateway.requests(), "resources/subscribe file:///t/1\nresources/subscribe file:///t/refused\nresources/unsubscribe file:///t/1\n")
}

// A server may report a sub-resource of the one that a client subscribed to. The client gets one
// update, with the URI that it can read.
func TestUpdateOfSubResourceReachesSubscribersOfTheResource(t *testing.T) {
	s := newAccountsFixture(t)
	for path, mark := range map[string]string{"/mcp": "office__", "/s/office/mcp": ""} {
		for _, id := range []string{"", "m-1"} {
			e := s.newProbe(path, "")
			e.l.subscriptionID = []byte(id)
			if id == "" {
				e.l.subscriptionID = nil
			}
			for _, own := range []string{"dir/", "dir", "dir/a", "dir/a/b/c"} {
				s.bridge.subscriptions.add(resourceKey{server: "office", uri: "board://" + own}, e.l, subscriber{uri: "board://" + mark + own, call: &core.Call{}})
			}
			for own, want := range map[string]bool{"dir/": true, "dir/a/b": true, "dir?x": true, "dir/new": true, "directory": false, "di": false, "": false} {
				s.bridge.ResourceUpdated("office", "", json.RawMessage(`{"uri":"board://`+own+`"}`))
				s.bridge.ResourceUpdated("home", "", json.RawMessage(`{"uri":"board://`+own+`"}`))
				s.bridge.ResourceUpdated("office", "another", json.RawMessage(`{"uri":"board://`+own+`"}`))
				n := 0
				if want {
					n = 1
				}
				if sent := e.sent(); strings.Count(sent, "resources/updated") != n || strings.Count(sent, `"uri":"board://`+mark+own+`"`) != n {
					t.Errorf("%s %q: %s", path, own, sent)
				}
			}
			s.bridge.subscriptions.removeListener(e.l)
		}
	}
}

// While a client does not read, only the newest update of each resource waits for it.
func TestConcurrentUpdatesAreCoalesced(t *testing.T) {
	s := newFixture(t, nil)
	e := s.newProbe("/mcp", "")
	e.l.stream.mu.Lock() // a client that does not read
	update := func(uri string, n int) {
		e.l.mu.Lock()
		defer e.l.mu.Unlock()
		e.l.enqueue(uri, "notifications/resources/updated", []byte(fmt.Sprintf(`{"uri":%q,"n":%d}`, uri, n)))
	}
	update("a:1", 0)
	eventually.True(t, "the first is being sent", func() bool { e.l.mu.Lock(); defer e.l.mu.Unlock(); return len(e.l.queue) == 0 })
	for n := 1; n < 100; n++ {
		update("a:1", n)
		update("a:2", n)
	}
	e.l.stream.mu.Unlock()
	var got []string
	for m := range events(strings.NewReader(e.sent())) {
		got = append(got, m[strings.Index(m, `"uri"`):])
	}
	checkEqual(t, "updates", strings.Join(got, " "), `"uri":"a:1","n":0}} "uri":"a:1","n":99}} "uri":"a:2","n":99}}`)
}
