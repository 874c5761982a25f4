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

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestServerIsSubscribedOnceForAllClients(t *testing.T) {
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(`{}`)}, nil
	})
	heard := make(chan string, 10)
	o := &mcp.ClientOptions{ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI }}
	a, b := s.connectSDK("/mcp", core.Legacy, o), s.connectSDK("/s/files/mcp", core.Legacy, o)
	for _, cs := range []*mcp.ClientSession{a, b} {
		if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///t/1"}); err != nil {
			t.Fatal(err)
		}
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
	if err := a.Unsubscribe(t.Context(), &mcp.UnsubscribeParams{URI: "file:///t/1"}); err != nil {
		t.Fatal(err)
	}
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
		if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "file:///t/1"}); err != nil {
			t.Fatal(err)
		}
	}
	checkEqual(t, "each account", s.gateway.requests(), "resources/subscribe file:///t/1 work\nresources/subscribe file:///t/1 home\n")
	for _, token := range []string{"home", "work"} {
		if len(heard["work"]) > 0 {
			t.Error("work hears of the updates of home")
		}
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
		if !strings.Contains(ack, "subscriptions/acknowledged") || !strings.Contains(ack, want) {
			t.Errorf("%s: %s", uris, ack)
		}
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
				s.bridge.subscriptions.add(resourceKey{server: "office", uri: "board://" + own}, e.ss, subscriber{uri: "board://" + mark + own, call: &core.Call{}})
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
			s.bridge.subscriptions.removeSession(e.ss)
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
		e.l.enqueue(s.bridge, uri, "notifications/resources/updated", []byte(fmt.Sprintf(`{"uri":%q,"n":%d}`, uri, n)))
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
