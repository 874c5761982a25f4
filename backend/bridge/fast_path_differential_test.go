package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/google/go-cmp/cmp"
)

// behaveByName is a server whose response depends on the name in the call.
func behaveByName(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	var p struct {
		Arguments struct{ Do string }
		URI       string
	}
	_ = json.Unmarshal(call.Params, &p)
	do := p.Arguments.Do
	if call.Method == "resources/read" {
		do = strings.TrimPrefix(p.URI, "file:///t/")
	}
	switch do {
	case "notify":
		for i := range 3 {
			sink.Notify("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progressToken":%s,"progress":%d,"vendor":1.0}`, wire.Bytes(call.Params, call.ProgressToken), i)))
			sink.Notify("notifications/message", json.RawMessage(`{"level":"error","data":{"n":9007199254740993}}`))
			sink.Notify("notifications/message", json.RawMessage(`{"level":"debug","data":1}`))
		}
	case "ask":
		reply, err := sink.Ask(ctx, "sampling/createMessage", json.RawMessage(`{"messages":[],"maxTokens":1.0}`))
		if err != nil {
			return core.Reply{}, err
		}
		return core.Reply{Result: json.RawMessage(`{"content":[],"got":` + string(reply.Result) + string(reply.Error) + `}`)}, nil
	case "error":
		return core.Reply{Error: json.RawMessage(`{"code":-32002,"message":"not there","data":{"x":[1,null]}}`)}, nil
	case "odd error":
		return core.Reply{Error: json.RawMessage(`{"code":-31999,"message":"<b>odd</b>"}`)}, nil
	case "late error":
		sink.Notify("notifications/progress", json.RawMessage(`{"progressToken":1,"progress":1}`))
		return core.Reply{Error: json.RawMessage(`{"code":-32602,"message":"too late for a status"}`)}, nil
	case "unavailable":
		return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Message: "not running", Hint: "Start it.", Retriable: true}
	case "invalid":
		return core.Reply{}, core.Errorf(core.CodeValidation, "wrong")
	case "internal":
		return core.Reply{}, errors.New("secret")
	case "modern":
		return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{},"requestState":"s","_meta":{"a":1}}`)}, nil
	}
	return core.Reply{Result: json.RawMessage(unusualResult)}, nil
}

func TestFastPathAndGeneralPathAnswerAlike(t *testing.T) {
	hot, cold := newFixture(t, behaveByName), newFixture(t, behaveByName)
	cold.bridge.fastPathDisabled = true

	type request struct{ method, name, params string }
	requests := []request{
		{"tools/list", "", ""}, {"prompts/list", "", ""}, {"resources/list", "", ""}, {"resources/templates/list", "", ""},
		{"tools/list", "", `"cursor":"x"`},
		{"tools/call", "nobody__x", `"name":"nobody__x"`},
		{"prompts/get", "files__ask", `"name":"files__ask","arguments":{"a":"b"}`},
		{"prompts/get", "files__no", `"name":"files__no"`},
		{"resources/read", "nowhere:x", `"uri":"nowhere:x"`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"files__ask"},"argument":{"name":"a","value":"b"}`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"nobody"},"argument":{"name":"a","value":"b"}`},
		{"tools/call", "files__marked", `"name":"files__marked"`},
	}
	for _, do := range []string{"plain", "notify", "ask", "error", "odd error", "late error", "unavailable", "invalid", "internal", "modern"} {
		requests = append(requests,
			request{"tools/call", "files__read", `"name":"files__read","arguments":{"Do":"` + do + `"}`},
			request{"resources/read", "file:///t/" + do, `"uri":"file:///t/` + do + `"`})
	}
	sessions := map[*fixture][]string{}
	for _, s := range []*fixture{hot, cold} {
		sessions[s] = s.openSession("/mcp", `{"sampling":{}}`)
	}
	for _, rq := range requests {
		rq.params = strings.TrimPrefix(rq.params+`,"_meta":{"progressToken":1}`, ",")
		for _, era := range []core.Era{core.Legacy, core.Modern} {
			t.Run(fmt.Sprintf("%s %s %s", era, rq.method, rq.params), func(t *testing.T) {
				var got [2]string
				for i, s := range []*fixture{hot, cold} {
					got[i] = s.transcript(era, sessions[s], rq.method, rq.name, rq.params)
				}
				if d := cmp.Diff(got[0], got[1]); d != "" {
					t.Errorf("hot and long differ:\n%s", d)
				}
				if !strings.Contains(got[0], `"jsonrpc"`) {
					t.Errorf("no answer: %s", got[0])
				}
			})
		}
	}
	if n := len(hot.gateway.seen); n != len(cold.gateway.seen) {
		t.Fatalf("%d calls hot, %d calls the long way", n, len(cold.gateway.seen))
	}
	for i, a := range hot.gateway.seen {
		b := cold.gateway.seen[i]
		a.At, a.Began, a.Session, b.Session = b.At, b.Began, "", ""
		if d := cmp.Diff(a, b); d != "" {
			t.Errorf("the gateway sees a difference in %s %s:\n%s", a.Method, a.Params, d)
		}
	}
}

// transcript sends a request, answers the requests of the server, and returns a transcript of all
// messages.
func (s *fixture) transcript(era core.Era, session []string, method, name, params string) string {
	s.Helper()
	var body string
	h := session
	if era == core.Modern {
		body = strings.Replace(modernBody(method, strings.TrimSuffix(params, `,"_meta":{"progressToken":1}`)), `"_meta":{`, `"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"error",`, 1)
		body = strings.Replace(body, `{,`, `{`, 1)
		if !strings.Contains(params, ",") {
			body = strings.Replace(modernBody(method, ""), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
		}
		h = []string{versionHeader, core.ModernVersion, methodHeader, method}
		if name != "" && method != "completion/complete" {
			h = append(h, nameHeader, name)
		}
	} else {
		body = `{"jsonrpc":"2.0","id":"m-1","method":"` + method + `","params":{` + params + `}}`
	}
	resp := s.post("/mcp", body, h...)
	log := resp.Status + "\n"
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for m := range events(resp.Body) {
			var ask struct{ ID, Method string }
			if json.Unmarshal([]byte(m), &ask); ask.ID != "" && ask.Method != "" {
				s.post("/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":{"role":"assistant","n":1.0}}`, session...)
				m = strings.ReplaceAll(m, ask.ID, "ID")
			}
			log += canonical(m) + "\n"
		}
		return log
	}
	return log + canonical(onlyMessage(s, resp)) + "\n"
}

// canonical sorts the keys of objects and leaves numbers as they are written.
func canonical(m string) string {
	d := json.NewDecoder(strings.NewReader(m))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "not JSON: " + m
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v)
	return strings.TrimSpace(b.String())
}
