package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

// singleUpstream is one server behind the real call path: multiplexer, policy and gateway.
type singleUpstream struct{ conn *upstream.Conn }

func (r singleUpstream) For(context.Context, *core.Call) (gateway.Upstream, error) {
	return r.conn, nil
}
func (singleUpstream) Record(*core.Call, core.Reply) {}

func newEndToEndFixture(t *testing.T, mode string) *fixture {
	t.Helper()
	reg := registry.New(registry.Options{})
	reg.Arrange(registry.Prefixed, []registry.Server{{ID: "one"}})
	changed := make(chan core.Kind, 16)
	conn, err := upstream.Connect(t.Context(), upstream.Options{
		Server: "one",
		Dial: func(context.Context) (upstream.Pipe, error) {
			p, err := mcptest.Start(mode)
			if err != nil {
				return nil, err
			}
			return p, nil
		},
		Capabilities:  json.RawMessage(`{"elicitation":{}}`),
		OnListChanged: func(kind core.Kind) { changed <- kind },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	reg.Set("one", "one", conn.Catalog())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case kind := <-changed:
				reg.Set("one", "one", conn.Catalog(), kind)
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
	s := &fixture{T: t, registry: reg, lister: &fakeLister{}}
	g := gateway.New(gateway.Options{
		Upstreams: singleUpstream{conn}, Recorder: singleUpstream{}, Policy: policy.New(policy.Options{Views: reg}), Bus: new(event.Bus),
	})
	s.serve(Options{Registry: reg, Gateway: g, Lister: s.lister})
	return s
}

// callBothEras sends the same call as a legacy and as a modern client and returns both responses.
func (s *fixture) callBothEras(name, arguments, meta string) map[core.Era]*http.Response {
	s.Helper()
	params := `"name":"` + name + `","arguments":` + arguments
	legacy := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `,"_meta":{` + meta + `}}}`
	modern := modernBody("tools/call", params)
	if meta != "" {
		modern = strings.Replace(modern, `"_meta":{`, `"_meta":{`+meta+`,`, 1)
	}
	return map[core.Era]*http.Response{
		core.Legacy: s.post("/mcp", legacy, s.openSession("/mcp", `{"elicitation":{}}`)...),
		core.Modern: s.post("/mcp", modern, versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, name),
	}
}

func TestEndToEndUnusualBytesAreUnchanged(t *testing.T) {
	s := newEndToEndFixture(t, "quirky")
	for era, resp := range s.callBothEras("one__odd", `{"n":9007199254740993,"f":1.0}`, "") {
		if got := onlyMessage(t, resp); !strings.Contains(got, strings.TrimRight(mcptest.QuirkyResult, "}")) {
			t.Errorf("%s:\n got %s\nwant %s", era, got, mcptest.QuirkyResult)
		}
	}
	if got := onlyMessage(t, s.modern("/s/one/mcp", "tools/list", "", "")); !strings.Contains(got, mcptest.QuirkyTool) {
		t.Errorf("list: %s", got)
	}
	if got := onlyMessage(t, s.modern("/mcp", "tools/list", "", "")); !strings.Contains(got, strings.Replace(mcptest.QuirkyTool, `"odd"`, `"one__odd"`, 1)) {
		t.Errorf("list: %s", got)
	}
}

func TestEndToEndNotificationsPrecedeReply(t *testing.T) {
	s := newEndToEndFixture(t, "progress")
	for era, resp := range s.callBothEras("one__echo", `{"n":4000}`, `"progressToken":"p"`) {
		list := messages(t, resp)
		if len(list) != 4001 {
			t.Fatalf("%s: %d messages", era, len(list))
		}
		for i := range 4000 {
			if !strings.Contains(list[i], `"progress":`+strconv.Itoa(i+1)+`,`) || !strings.Contains(list[i], `"progressToken":"p"`) {
				t.Fatalf("%s: %d: %s", era, i, list[i])
			}
		}
	}
}

func TestEndToEndServerRequestReachesItsClient(t *testing.T) {
	s := newEndToEndFixture(t, "ask")
	h := s.openSession("/mcp", `{"elicitation":{}}`)
	resp := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo"}}`, h...)
	var last string
	for m := range events(resp.Body) {
		var ask struct{ ID, Method string }
		if json.Unmarshal([]byte(m), &ask); ask.Method == "elicitation/create" {
			s.post("/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"action":"accept","content":{"n":1.0}}}`, h...)
		}
		last = m
	}
	if !strings.Contains(last, `"result":{"action":"accept","content":{"n":1.0}}`) {
		t.Errorf("%s", last)
	}
	if got := onlyMessage(t, s.modern("/mcp", "tools/call", "one__echo", `"name":"one__echo"`)); !strings.Contains(got, "does not support elicitation") {
		t.Errorf("modern: %s", got)
	}
}

func TestEndToEndCancellationReachesServer(t *testing.T) {
	s := newEndToEndFixture(t, "silent-call")
	h := s.openSession("/mcp", `{}`)
	done := make(chan string)
	go func() {
		done <- onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo"}}`, h...))
	}()
	eventually.True(t, "the call is in flight", func() bool { return s.bridge.Sessions()[0].InFlight == 1 })
	s.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, h...)
	select {
	case got := <-done:
		if !strings.Contains(got, `"code":"cancelled"`) {
			t.Error(got)
		}
	case <-time.After(time.Minute):
		t.Fatal("the call goes on")
	}
}

func TestEndToEndListChangeIsAnnounced(t *testing.T) {
	s := newEndToEndFixture(t, "change")
	h := s.openSession("/mcp", `{}`)
	stream := s.request("GET", "/mcp", "", h...)
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one__echo"}}`, h...))
	for m := range events(stream.Body) {
		if strings.Contains(m, "notifications/tools/list_changed") {
			break
		}
	}
	if got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, h...)); !strings.Contains(got, "one__added0") {
		t.Errorf("%s", got)
	}
}

func TestEndToEndServerCrashMidCallIsReadableError(t *testing.T) {
	s := newEndToEndFixture(t, "exit-call")
	if got := onlyMessage(t, s.modern("/mcp", "tools/call", "one__echo", `"name":"one__echo"`)); !strings.Contains(got, `"isError":true`) {
		t.Errorf("%s", got)
	}
}
