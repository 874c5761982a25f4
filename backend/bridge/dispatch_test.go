package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unusualResult is a result that any decoding and encoding would change.
const unusualResult = `{"z":1.0,"content":[{"type":"hologram","n":9007199254740993,"e":"\u00e9\/"}],"structuredContent":{"b":1e3,"a":null},"a":[]}`

func TestServerBytesReachClientUnchanged(t *testing.T) {
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(unusualResult)}, nil
	})
	h := s.openSession("/mcp", `{}`)
	resp := s.post("/mcp", `{"jsonrpc":"2.0","id":7.0,"method":"tools/call","params":{"name":"files__read","arguments":{"n":1.50,"z":{}}}}`, h...)
	checkEqual(t, "content type", resp.Header.Get("Content-Type"), "application/json")
	checkEqual(t, "legacy", onlyMessage(t, resp), `{"jsonrpc":"2.0","id":7.0,"result":`+unusualResult+`}`)
	call := s.gateway.last()
	checkEqual(t, "params", string(call.Params), `{"name":"read","arguments":{"n":1.50,"z":{}}}`)
	checkEqual(t, "arguments", string(wire.Bytes(call.Params, call.Arguments)), `{"n":1.50,"z":{}}`)
	if call.Server != "files" || call.Name != "read" || call.PublicName != "files__read" || call.Client.Name != "probe" ||
		call.Client.Version != "9" || call.Session != h[1] || call.Era != core.Legacy {
		t.Errorf("call: %+v", call)
	}

	got := onlyMessage(t, s.modern("/s/files/mcp", "tools/call", "read", `"name":"read","arguments":{}`))
	checkEqual(t, "modern", got, `{"jsonrpc":"2.0","id":"m-1","result":`+unusualResult[:len(unusualResult)-1]+
		`,"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"drawbridge","title":"Drawbridge","version":"1.2.3"}}}}`)
	if call := s.gateway.last(); call.Era != core.Modern || call.LegacySession() != "" || call.Client.Name != "probe" || string(call.Capabilities) != "{}" {
		t.Errorf("call: %+v", call)
	}
}

func TestModernServerMembersAreNotDuplicated(t *testing.T) {
	const full = `{"contents":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x"}},"cacheScope":"public","ttlMs":5,"resultType":"complete"}`
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(full)}, nil
	})
	got := onlyMessage(t, s.modern("/mcp", "resources/read", "=?base64?ZmlsZTovLy/DvG7Drw==?=", `"uri":"file:///ünï"`))
	checkEqual(t, "result", got, `{"jsonrpc":"2.0","id":"m-1","result":`+full+`}`)
}

func TestModernResultGetsItsRequiredMembers(t *testing.T) {
	m := modernResults{serverInfo: []byte(`{"i":1}`)}
	for in, out := range map[string]string{
		`{}`:                          `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"i":1}}}`,
		`{ }`:                         `{ "resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"i":1}}}`,
		`{"_meta":{}}`:                `{"_meta":{"io.modelcontextprotocol/serverInfo":{"i":1}},"resultType":"complete"}`,
		`{"_meta":{"a":1},"b":2}`:     `{"_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"i":1}},"b":2,"resultType":"complete"}`,
		`{"_meta":null}`:              `{"_meta":null,"resultType":"complete"}`,
		`{"a":1,"a":2}`:               `{"a":1,"a":2}`,
		`{"resultType":"task","t":1}`: `{"resultType":"task","t":1,"_meta":{"io.modelcontextprotocol/serverInfo":{"i":1}}}`,
		`null`:                        `null`,
	} {
		checkEqual(t, in, joinResult(m.complete("tools/call", []byte(in))), out)
	}
	checkEqual(t, "read", joinResult(m.complete("resources/read", []byte(`{"a":1}`))),
		`{"a":1,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"i":1}}}`)
	checkEqual(t, "input", joinResult(m.complete("resources/read", []byte(`{"resultType":"input_required","_meta":{"io.modelcontextprotocol/serverInfo":1}}`))),
		`{"resultType":"input_required","_meta":{"io.modelcontextprotocol/serverInfo":1}}`)
}

func TestListsAreCachedBytesInBothEras(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/mcp", `{}`)
	for method, kind := range listMethods {
		raw := string(s.registry.All().ListResult(kind))
		checkEqual(t, method, onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, h...)), `{"jsonrpc":"2.0","id":1,"result":`+raw+`}`)
		got := onlyMessage(t, s.modern("/mcp", method, "", ""))
		if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"m-1","result":`+raw[:len(raw)-1]+`,"resultType":"complete","ttlMs":0,"cacheScope":"private"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
	assert.Empty(t, s.gateway.seen, "lists reached the gateway")
	got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`, h...))
	assert.Contains(t, got, `"code":-32602`, "unknown cursor")
}

func TestRequestsWaitForStartingServers(t *testing.T) {
	starting := func() *fixture {
		s := newFixture(t, nil)
		s.lister.do = func() {
			s.registry.Set("late", "late", &core.Catalog{Tools: []core.Item{{Name: "t", Raw: json.RawMessage(`{"name":"t","inputSchema":{"type":"object"}}`)}}})
		}
		return s
	}
	assert.Contains(t, onlyMessage(t, starting().modern("/mcp", "tools/list", "", "")), `"late__t"`)
	s := starting()
	onlyMessage(t, s.modern("/mcp", "tools/call", "late__t", `"name":"late__t"`))
	call := s.gateway.last()
	assert.Truef(t, call.Server == "late" && call.Name == "t", "call of a tool that is not known yet: %+v", call)
}

func TestUnknownToolIsAnErrorAndRecorded(t *testing.T) {
	s := newFixture(t, nil)
	h := s.openSession("/mcp", `{}`)
	got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nobody__x"}}`, h...))
	checkEqual(t, "legacy", got, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no tool named \"nobody__x\"","data":{"code":"not_found"}}}`)
	call := s.gateway.last()
	assert.Truef(t, call != nil && call.Server == "" && call.PublicName == "nobody__x", "call: %+v", call)
	resp := s.modern("/mcp", "tools/call", "nobody__x", `"name":"nobody__x"`)
	if onlyMessage(t, resp); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("modern: %s", resp.Status)
	}
}

func TestNotificationsPrecedeReplyInOrder(t *testing.T) {
	const n = 4000
	s := newFixture(t, func(_ context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		token := string(wire.Bytes(call.Params, call.ProgressToken))
		for i := range n {
			sink.Notify("notifications/progress", json.RawMessage(`{"progressToken":`+token+`,"progress":`+itoa(i)+`}`))
		}
		return core.Reply{Result: textReply("done")}, nil
	})
	h := s.openSession("/mcp", `{}`)
	for era, resp := range map[string]*http.Response{
		"legacy": s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add","_meta":{"progressToken":"tök"}}}`, h...),
		"modern": s.post("/mcp", strings.Replace(modernBody("tools/call", `"name":"math__add"`), `"_meta":{`, `"_meta":{"progressToken":"tök",`, 1),
			versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "math__add"),
	} {
		checkEqual(t, era, resp.Header.Get("Content-Type"), "text/event-stream")
		list := messages(t, resp)
		require.Len(t, list, n+1, era)
		for i := range n {
			m := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tök","progress":` + itoa(i) + `}}`
			require.Equal(t, m, list[i], era)
		}
		assert.Contains(t, list[n], `"result":`, era)
	}
}

func TestLogMessagesBelowClientLevelAreDropped(t *testing.T) {
	s := newFixture(t, func(_ context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		for _, level := range []string{"debug", "info", "warning", "error", "loud"} {
			sink.Notify("notifications/message", json.RawMessage(`{"level":"`+level+`","data":1}`))
		}
		return core.Reply{Result: textReply("done")}, nil
	})
	heard := func(list []string) string {
		var got []string
		for _, m := range list {
			for _, level := range []string{"debug", "info", "warning", "error", "loud"} {
				if strings.Contains(m, `"`+level+`"`) {
					got = append(got, level)
				}
			}
		}
		return strings.Join(got, " ")
	}
	h := s.openSession("/mcp", `{}`)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`
	checkEqual(t, "before a level is set", heard(messages(t, s.post("/mcp", call, h...))), "info warning error loud")
	onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`, h...))
	checkEqual(t, "error", heard(messages(t, s.post("/mcp", call, h...))), "error loud")
	assert.Contains(t, onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"shout"}}`, h...)), "-32602")
	checkEqual(t, "other session", heard(messages(t, s.post("/mcp", call, s.openSession("/mcp", `{}`)...))), "info warning error loud")

	checkEqual(t, "modern, nothing said", heard(messages(t, s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`))), "")
	body := strings.Replace(modernBody("tools/call", `"name":"math__add"`), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"warning",`, 1)
	resp := s.post("/mcp", body, versionHeader, core.ModernVersion, methodHeader, "tools/call", nameHeader, "math__add")
	checkEqual(t, "modern, warning", heard(messages(t, resp)), "warning error loud")
}

func TestErrorsAreReadableByModels(t *testing.T) {
	var fail error
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{}, fail
	})
	h := s.openSession("/mcp", `{}`)
	tool := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`
	prompt := `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"files__ask"}}`
	for _, c := range []struct {
		err  error
		body string
		want string
	}{
		{&core.Error{Code: core.CodeUnavailable, Message: "server \"math\" is not running", Hint: "Start it.", Retriable: true, Cause: errors.New("secret")}, tool,
			`"result":{"content":[{"type":"text","text":"math is temporarily unavailable. Please try again later. (code=unavailable retriable=true)"},` +
				`{"type":"text","text":"server \"math\" is not running. Start it."}],"isError":true,"_meta":{"status":"degraded",` +
				`"drawbridge/error":{"code":"unavailable","message":"server \"math\" is not running","hint":"Start it.","retriable":true}}}`},
		{&core.Error{Code: core.CodeBreakerOpen, Message: "server \"math\" failed 5 times in a row; its circuit breaker is open", Hint: "Try again in 30s.", Retriable: true}, tool,
			`"result":{"content":[{"type":"text","text":"math is temporarily unavailable. Please try again later. (code=breaker_open retriable=true)"},` +
				`{"type":"text","text":"server \"math\" failed 5 times in a row; its circuit breaker is open. Try again in 30s."}],"isError":true,"_meta":{"status":"degraded",`},
		{&core.Error{Code: core.CodeValidation, Message: "the arguments do not fit", Fields: []core.FieldError{{Field: "a", Error: "is required"}}}, tool,
			`"result":{"content":[{"type":"text","text":"the arguments do not fit (code=validation)"}],"isError":true,"_meta":{"drawbridge/error":{"code":"validation","message":"the arguments do not fit","errors":[{"field":"a","error":"is required"}]}}}`},
		{core.Errorf(core.CodeUnauthorized, "log in"), tool, `"text":"log in (code=unauthorized)"`},
		{context.DeadlineExceeded, tool, `"isError":true`},
		{errors.New("secret"), tool, `"text":"internal error. See the log for details: drawbridge logs. (code=internal)"`},
		{errors.New("secret"), prompt, `"error":{"code":-32603,"message":"internal error","data":{"code":"internal","hint":"See the log for details: drawbridge logs."}}`},
		{core.Errorf(core.CodeUnavailable, "no"), prompt, `"error":{"code":-32000,"message":"no","data":{"code":"unavailable"}}`},
		{core.Errorf(core.CodeValidation, "bad"), tool, `"error":{"code":-32602,"message":"bad","data":{"code":"validation"}}`},
		{core.Errorf(core.CodeCancelled, "stop"), tool, `"error":{"code":-32000,"message":"stop","data":{"code":"cancelled"}}`},
		{core.Errorf(core.CodeNotFound, "gone"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///t/1"}}`, `"error":{"code":-32002,"message":"gone","data":{"code":"not_found","uri":"file:///t/1"}}`},
	} {
		fail = c.err
		got := onlyMessage(t, s.post("/mcp", c.body, h...))
		assert.Contains(t, got, c.want, c.err)
		assert.NotContains(t, got, "secret", c.err)
	}
}

func TestServerErrorObjectIsForwardedUnchanged(t *testing.T) {
	const object = `{"message":"no","data":{"n":1.0},"code":-32002}`
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Error: json.RawMessage(object)}, nil
	})
	got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///t/1"}}`, s.openSession("/mcp", `{}`)...))
	checkEqual(t, "legacy", got, `{"jsonrpc":"2.0","id":1,"error":`+object+`}`)
	resp := s.modern("/mcp", "resources/read", "file:///t/1", `"uri":"file:///t/1"`)
	checkEqual(t, "modern", onlyMessage(t, resp), `{"jsonrpc":"2.0","id":"m-1","error":{"message":"no","data":{"n":1.0},"code":-32602}}`)
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
}

func TestCompletionIsRoutedByItsReference(t *testing.T) {
	s := newFixture(t, func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(`{"completion":{"values":[]}}`)}, nil
	})
	onlyMessage(t, s.modern("/mcp", "completion/complete", "", `"ref":{"type":"ref/prompt","name":"files__ask"},"argument":{"name":"a","value":"b"}`))
	call := s.gateway.last()
	if call.Server != "files" || call.Name != "ask" || !strings.Contains(string(call.Params), `"ref":{"type":"ref/prompt","name":"ask"},"argument"`) {
		t.Errorf("prompt: %+v %s", call, call.Params)
	}
	onlyMessage(t, s.modern("/mcp", "completion/complete", "", `"ref":{"type":"ref/resource","uri":"file:///t/{id}"},"argument":{"name":"id","value":"b"}`))
	if call := s.gateway.last(); call.Server != "files" || call.Name != "file:///t/{id}" {
		t.Errorf("template: %+v", call)
	}
	for _, ref := range []string{`"ref":{"type":"ref/x"}`, `"ref":7`, `"argument":{}`, `"ref":{"type":"ref/prompt"}`, `"ref":{"type":"ref/prompt","name":7}`} {
		assert.Contains(t, onlyMessage(t, s.modern("/mcp", "completion/complete", "", ref)), "-32602", ref)
	}
}

func TestCallDoesNotWaitForStalledReader(t *testing.T) {
	line := json.RawMessage(`{"progressToken":1,"progress":1,"message":"` + strings.Repeat("x", 1<<20) + `"}`)
	ended := make(chan struct{})
	s := newFixture(t, func(_ context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		for range 64 {
			sink.Notify("notifications/progress", line)
		}
		close(ended)
		return core.Reply{Result: textReply("done")}, nil
	}, func(o *Options) { o.WriteLimit = 100 * time.Millisecond })
	resp := s.modern("/mcp", "tools/call", "math__add", `"name":"math__add"`)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the call waits for the client")
	}
	resp.Body.Close()
}

func itoa(i int) string { b, _ := json.Marshal(i); return string(b) }

func joinResult(a splitResult) string { return string(a.head) + string(a.tail) }
