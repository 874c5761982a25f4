package bridge

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

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
	if n := len(s.gateway.seen); n != 3 {
		t.Errorf("%d calls", n)
	}
	if n := len(s.gateway.asked); n != 3 || s.gateway.asked[0].Method != "elicitation/create" || s.gateway.asked[0].Server != "math" {
		t.Errorf("%d questions are recorded", n)
	}
	if got := string(s.gateway.seen[1].Params); !strings.HasPrefix(got, `{"inputResponses":{"a":{"n":1.0,"m":"elicitation/create"},"b":{"n":1.0,"m":"roots/list"}},"requestState":"one","name":"add",`) {
		t.Errorf("second round: %s", got)
	}

	got := messages(t, s.post("/mcp", call, s.openSession("/mcp", `{"roots":{}}`)...))
	if len(got) != 1 || !strings.Contains(got[0], "does not support elicitation") || !strings.Contains(got[0], `"isError":true`) {
		t.Errorf("%q", got)
	}
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
	if !strings.Contains(last, "more than 10 times") || !strings.Contains(last, "code=rejected") {
		t.Errorf("%s", last)
	}
	if got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","arguments":{"busy":1}}}`, h...)); !strings.Contains(got, "retriable=true") {
		t.Errorf("%s", got)
	}
}
