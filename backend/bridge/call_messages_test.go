package bridge

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
)

func TestServerRequestIsRoutedToClientOfItsCall(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		reply, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"Sure?","n":1.0}`))
		if err != nil {
			return core.Reply{}, err
		}
		if reply.Error != nil {
			return core.Reply{Result: json.RawMessage(`{"error":` + string(reply.Error) + `}`)}, nil
		}
		return core.Reply{Result: json.RawMessage(`{"got":` + string(reply.Result) + `}`)}, nil
	})
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`

	h := s.openSession("/mcp", `{"elicitation":{}}`)
	stranger := s.openSession("/mcp", `{"elicitation":{}}`)
	resp := s.post("/mcp", call, h...)
	var reply string
	for m := range events(resp.Body) {
		var ask struct {
			ID     string
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(m), &ask); err != nil || ask.Method == "" {
			reply = m
			continue
		}
		checkEqual(t, "params", string(ask.Params), `{"message":"Sure?","n":1.0}`)
		answer := `{"jsonrpc":"2.0","id":"` + ask.ID + `","result":{"action":"accept","content":{"n":9007199254740993}}}`
		// A response from another session that guesses the id is ignored.
		assert.Equal(t, http.StatusAccepted, s.post("/mcp", strings.Replace(answer, "accept", "decline", 1), stranger...).StatusCode)
		for range 2 { // a duplicate response has no effect
			assert.Equal(t, http.StatusAccepted, s.post("/mcp", answer, h...).StatusCode)
		}
	}
	checkEqual(t, "reply", reply, `{"jsonrpc":"2.0","id":1,"result":{"got":{"action":"accept","content":{"n":9007199254740993}}}}`)

	for _, c := range []struct{ name, got, missing string }{
		{"no elicitation", onlyMessage(t, s.post("/mcp", call, s.openSession("/mcp", `{"sampling":{}}`)...)), "does not support elicitation"},
		{"url only", onlyMessage(t, s.post("/mcp", call, s.openSession("/mcp", `{"elicitation":{"url":{}}}`)...)), "does not support elicitation by form"},
		{"modern", onlyMessage(t, s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`)), "does not support elicitation"},
	} {
		assert.Contains(t, c.got, c.missing, c.name)
		assert.Contains(t, c.got, "-32601", c.name)
	}
}

func TestLateInputResponseIsRefused(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		reply, err := sink.Ask(ctx, "roots/list", nil)
		return core.Reply{Result: json.RawMessage(`{"error":` + string(reply.Error) + `}`)}, err
	}, func(o *Options) { o.AskTimeout = 20 * time.Millisecond })
	h := s.openSession("/mcp", `{"roots":{}}`)
	list := messages(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...))
	if len(list) != 3 || !strings.Contains(list[0], `"roots/list"`) || !strings.Contains(list[1], "notifications/cancelled") || !strings.Contains(list[2], "did not respond in time") {
		t.Errorf("%q", list)
	}
	var ask struct{ ID string }
	_ = json.Unmarshal([]byte(list[0]), &ask)
	assert.Equal(t, http.StatusAccepted, s.post("/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"roots":[]}}`, h...).StatusCode, "late answer")
}

func TestBatchedInternalMessagesAreRemoved(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		if call.Name == "read" {
			return core.Reply{Result: textReply("second")}, nil
		}
		reply, err := sink.Ask(ctx, "roots/list", nil)
		return core.Reply{Result: reply.Result}, err
	})
	h := s.openSession("/mcp", `{"roots":{}}`)
	h[3] = "2025-03-26"
	resp := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...)
	for m := range events(resp.Body) {
		var ask struct{ ID, Method string }
		if json.Unmarshal([]byte(m), &ask); ask.Method != "roots/list" {
			checkEqual(t, "reply", m, `{"jsonrpc":"2.0","id":1,"result":{"roots":[1.0]}}`)
			break
		}
		batch := `[{"jsonrpc":"2.0","id":"` + ask.ID + `","result":{"roots":[1.0]}},{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"files__read"}},{"jsonrpc":"2.0","id":9,"method":"tools/list"}]`
		got := strings.Join(messages(t, s.post("/mcp", batch, h...)), "\n")
		assert.Truef(t, strings.Contains(got, `"second"`) && strings.Contains(got, `"files__read"`) && strings.Contains(got, `"id":9`), "batch: %s", got)
	}
	assert.Equal(t, 400, s.post("/mcp", `[{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"x"}]`, h...).StatusCode, "folded key in a batch")
}

// A question that the server takes back is cancelled at the client with the server's reason.
func TestCancelledQuestionKeepsServersReason(t *testing.T) {
	for reason, want := range map[string]string{"no longer needed": "no longer needed", "": "the server cancelled the request"} {
		s := newFixture(t, func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
			asking, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(10*time.Millisecond, func() { cancel(&wire.CancelledByServer{Reason: reason}) })
			_, _ = sink.Ask(asking, "roots/list", nil)
			return core.Reply{Result: textReply("done")}, nil
		})
		list := messages(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, s.openSession("/mcp", `{"roots":{}}`)...))
		if len(list) != 3 || !strings.Contains(list[1], `"notifications/cancelled"`) || !strings.Contains(list[1], `"reason":"`+want+`"`) {
			t.Errorf("%q", list)
		}
	}
}

func TestLegacyClientAnswersModernServerInputRequest(t *testing.T) {
	s := newFixture(t, func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		p, err := wire.ScanParams(call.Params)
		if err != nil {
			return core.Reply{}, err
		}
		checkEqual(t, "arguments", string(wire.Bytes(call.Params, call.Arguments)), `{"a":1.0}`)
		checkEqual(t, "token", string(wire.Bytes(call.Params, call.ProgressToken)), `7`)
		switch string(wire.Bytes(call.Params, p.RequestState)) {
		case "":
			return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","requestState":"one","inputRequests":{"b":{"method":"roots/list"},"a":{"method":"elicitation/create","params":{"message":"Name?"}}}}`)}, nil
		case `"one"`:
			return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","requestState":"two","inputRequests":{"c":{"method":"roots/list"}}}`)}, nil
		}
		return core.Reply{Result: json.RawMessage(`{"content":[],"responses":` + string(wire.Bytes(call.Params, p.InputResponses)) + `}`)}, nil
	})
	h := s.openSession("/mcp", `{"elicitation":{},"roots":{}}`)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","arguments":{"a":1.0},"_meta":{"progressToken":7}}}`
	var asked, last string
	resp := s.post("/mcp", call, h...)
	for m := range events(resp.Body) {
		last = m
		var ask struct{ ID, Method string }
		if json.Unmarshal([]byte(m), &ask); ask.Method != "" {
			asked += ask.Method + " "
			s.post("/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"n":1.0,"m":"`+ask.Method+`"}}`, h...)
		}
	}
	checkEqual(t, "asked", asked, "elicitation/create roots/list roots/list ")
	checkEqual(t, "reply", last, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"responses":{"c":{"n":1.0,"m":"roots/list"}}}}`)
	assert.Equal(t, 3, len(s.gateway.seen))
	n := len(s.gateway.asked)
	assert.Truef(t, n == 3 && s.gateway.asked[0].Method == "elicitation/create" && s.gateway.asked[0].Server == "math", "%d questions are recorded", n)
	if got := string(s.gateway.seen[1].Params); !strings.HasPrefix(got, `{"inputResponses":{"a":{"n":1.0,"m":"elicitation/create"},"b":{"n":1.0,"m":"roots/list"}},"requestState":"one","name":"add",`) {
		t.Errorf("second round: %s", got)
	}

	got := messages(t, s.post("/mcp", call, s.openSession("/mcp", `{"roots":{}}`)...))
	assert.Truef(t, len(got) == 1 && strings.Contains(got[0], "does not support elicitation") && strings.Contains(got[0], `"isError":true`), "%q", got)
}

func TestEndlessInputRequestsAreCutOff(t *testing.T) {
	s := newFixture(t, func(_ context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		if strings.Contains(string(call.Params), "busy") {
			return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","requestState":"x"}`)}, nil
		}
		return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`)}, nil
	})
	h := s.openSession("/mcp", `{"roots":{}}`)
	resp := s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, h...)
	last := ""
	for m := range events(resp.Body) {
		last = m
		var ask struct{ ID, Method string }
		if json.Unmarshal([]byte(m), &ask); ask.Method != "" {
			s.post("/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"roots":[]}}`, h...)
		}
	}
	assert.Contains(t, last, "more than 10 times")
	assert.Contains(t, last, "code=rejected")
	got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","arguments":{"busy":1}}}`, h...))
	assert.Contains(t, got, "retriable=true")
}

// Servers ask for roots when they start, on behalf of no client, and print an error as a failure of theirs.
func TestServerThatAsksForRootsOutsideOfCallsGetsNone(t *testing.T) {
	s := newFixture(t, nil)
	for method, want := range map[string]string{"roots/list": `{"roots":[]}`, "sampling/createMessage": "cannot be attributed"} {
		reply, err := s.bridge.Ask(t.Context(), "files", "", method, nil)
		got := string(reply.Result) + string(reply.Error)
		assert.Truef(t, err == nil && strings.Contains(got, want), "%s: %s, %v", method, got, err)
	}
}
