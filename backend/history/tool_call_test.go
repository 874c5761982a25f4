package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/web"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPreviewsOfVisibleCalls(t *testing.T) {
	s := newSite(t)
	ids := s.fill(t, 4)
	var got web.List[CallPreview]
	s.Get(t, "/api/v1/previews?ids="+ids[0]+","+ids[3]+"&q=word3", &got)
	if len(got.Items) != 2 || got.Items[0].ID != ids[3] || got.Items[0].MatchIn != "reply" || !strings.Contains(got.Items[0].Match, "word3") || got.Items[1].Match != "" {
		t.Errorf("previews: %+v", got)
	}
	for _, p := range got.Items {
		if strings.Contains(p.Arguments, "qwxSecret") || !strings.HasPrefix(p.Arguments, "n: ") || !strings.Contains(p.Arguments, ", password: ") {
			t.Errorf("arguments: %q", p.Arguments)
		}
	}
	for _, bad := range []string{"", "?ids=", "?ids=x", "?ids=1,", "?ids=1" + strings.Repeat(",1", store.MaxPreviews)} {
		s.Want(t, "GET", "/api/v1/previews"+bad, "", 400)
	}
}

func TestArgumentsOnOneLine(t *testing.T) {
	for raw, want := range map[string]string{
		``:     ``,
		`{}`:   ``,
		`null`: ``,
		`{"path":"/tmp/a b","head":20,"deep":{"a":[1, 2]}}`: `path: /tmp/a b, head: 20, deep: {"a":[1, 2]}`,
		`{"text":"two\nlines\tand \u00e9"}`:                 `text: two lines and é`,
		`{"path":"/tmp/a","text":"cut he\n`:                 `path: /tmp/a, text: cut he`,
		`{"path":"/tmp/a","te`:                              `path: /tmp/a`,
		`{"n":9007199254740993,"f":1.0,"e":1E2}`:            `n: 9007199254740993, f: 1.0, e: 1E2`,
		`{"cursor":null,"empty":"","off":false}`:            `cursor: null, empty: , off: false`,
		`{"a":[1,2`:                                         `a: [1,2`,
		`[1,"x"]`:                                           `[1,"x"]`,
	} {
		assert.Equal(t, want, argumentLine([]byte(raw)), raw)
	}
	long := argumentLine([]byte(`{"text":"` + strings.Repeat("é", 300) + `"}`))
	assert.Truef(t, len(long) <= store.PreviewBytes && utf8.ValidString(long) && strings.HasSuffix(long, "é…"), "long: %q", long)
}

// newTaskSite returns a site whose server files answers the requests of a task with replies, by
// method; those to tasks/get in turn.
func newTaskSite(t *testing.T, capabilities string, replies map[string][]string) (s *site, seen func() string) {
	s = newSite(t)
	s.views.Configure(registry.Prefixed, []registry.Server{{ID: "files"}})
	s.views.Set("files", "files", &core.Catalog{Capabilities: json.RawMessage(capabilities), Tools: []core.Item{
		{Name: "job", Raw: json.RawMessage(`{"name":"job","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`)}}})
	var mu sync.Mutex
	var log []string
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, fmt.Sprintf("%s %s %s", c.Method, c.Era, c.Params))
		if c.Method == "tools/call" {
			c.Task = &core.Task{Call: c.ID, ID: "a", Status: "working", TTL: -1} // as the gateway does
		}
		next := replies[c.Method]
		if len(next) > 1 {
			replies[c.Method] = next[1:]
		}
		switch next[0] {
		case "away":
			return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Message: "the connection was lost", Retriable: true}
		case "bad":
			return core.Reply{}, core.Errorf(core.CodeUnavailable, "the answer is not an object")
		}
		if strings.HasPrefix(next[0], "!") {
			return core.Reply{Error: json.RawMessage(next[0][1:])}, nil
		}
		return core.Reply{Result: json.RawMessage(next[0])}, nil
	}
	return s, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(log, "\n")
	}
}

const (
	modernTasks = `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	legacyTasks = `{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}`
)

// A command that calls a tool gets the result of the task that the server creates, in both eras.
func TestCallWaitsForItsTask(t *testing.T) {
	get := func(more string) string {
		return `{"resultType":"complete","taskId":"a","pollIntervalMs":1,` + more + `}`
	}
	working, input := get(`"status":"working"`), get(`"status":"input_required"`)
	const hi = `{"content":[{"type":"text","text":"hi"}]}`
	for name, c := range map[string]struct {
		capabilities  string
		get           []string
		result        string
		output, wrong string
		cancels       bool
	}{
		"modern":           {modernTasks, []string{working, get(`"status":"completed","result":` + hi)}, "", "hi", "", false},
		"tool error":       {modernTasks, []string{get(`"status":"completed","result":{"content":[{"type":"text","text":"oh"}],"isError":true}`)}, "", "oh", "oh", false},
		"failed":           {modernTasks, []string{get(`"status":"failed","error":{"code":-5,"message":"crashed"}`)}, "", "", "crashed (code=-5)", false},
		"no result":        {modernTasks, []string{get(`"status":"failed","statusMessage":"full disk"`)}, "", "", "the task has ended without a result: full disk", false},
		"odd result":       {modernTasks, []string{get(`"status":"completed","result":[]`)}, "", "", "the task has ended without a result: completed", false},
		"cancelled":        {modernTasks, []string{get(`"status":"cancelled"`)}, "", "", "the task has ended without a result: cancelled", false},
		"lost":             {modernTasks, []string{`!{"code":-32602,"message":"no task"}`}, "", "", "no task (code=-32602)", false},
		"restart":          {modernTasks, []string{"away", get(`"status":"completed","result":` + hi)}, "", "hi", "", false},
		"gone":             {modernTasks, []string{"away"}, "", "", "the connection was lost", true},
		"bad answer":       {modernTasks, []string{"bad"}, "", "", "the answer is not an object", true},
		"question":         {modernTasks, []string{input}, "", "", "the tool needs input while it runs. Call it from a client that supports tasks", true},
		"no status":        {modernTasks, []string{get(`"status":"working","status":"completed"`)}, "", "", "the server sent an invalid task", true},
		"legacy":           {legacyTasks, []string{working, get(`"status":"completed"`)}, hi, "hi", "", false},
		"legacy, question": {legacyTasks, []string{input}, hi, "hi", "", false},
		"legacy, failed":   {legacyTasks, []string{get(`"status":"failed"`)}, `!{"code":-5,"message":"crashed"}`, "", "crashed (code=-5)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, seen := newTaskSite(t, c.capabilities, map[string][]string{"tools/call": {`{}`}, "tasks/get": c.get, "tasks/result": {c.result}, "tasks/cancel": {`{}`}})
			_, body := s.Ask("POST", "/api/v1/call", `{"server":"files","tool":"job"}`)
			var r CallResult
			err := json.Unmarshal([]byte(body), &r)
			assert.Truef(t, err == nil && r.Output == c.output && r.Error == c.wrong && r.Success == (c.wrong == ""), "%v %s", err, body)
			log := seen()
			era, params := `modern {"name":"job","arguments":{},"_meta":{"progressToken":1}}`, "\ntasks/get modern {\"taskId\":\"a\"}"
			if c.capabilities == legacyTasks {
				era, params = `legacy {"name":"job","arguments":{},"_meta":{"progressToken":1},"task":{}}`, "\ntasks/get legacy {\"taskId\":\"a\"}"
			}
			assert.True(t, strings.HasPrefix(log, "tools/call "+era+params) && strings.Contains(log, "tasks/cancel") == c.cancels, log)
		})
	}
}

// Ending the command cancels the task.
func TestEndedCommandCancelsItsTask(t *testing.T) {
	working := []string{`{"taskId":"a","status":"working"}`}
	s, _ := newTaskSite(t, modernTasks, map[string][]string{"tools/call": {`{}`}, "tasks/get": working, "tasks/cancel": {`{}`}})
	ctx, stop := context.WithCancel(t.Context())
	cancelled := make(chan struct{})
	answer := s.call
	s.call = func(callCtx context.Context, c *core.Call) (core.Reply, error) {
		switch c.Method {
		case "tasks/get":
			stop()
		case "tasks/cancel":
			if callCtx.Err() == nil {
				close(cancelled)
			}
		}
		return answer(callCtx, c)
	}
	r, err := s.feature.call(ctx, &callRequestInput{Body: CallRequest{Server: "files", Tool: "job"}})
	assert.Truef(t, err == nil && !r.Body.Success, "%v %v", r, err)
	<-cancelled
}

func TestCallGoesThroughTheCallPath(t *testing.T) {
	s := newSite(t)
	var got core.Call
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		got = *c
		c.Progress, c.ProgressLog = 2, []core.ProgressNotification{{AfterMs: 12, Params: []byte(`{"progress":1.0,"total":2,"message":"<a>"}`)}}
		return core.Reply{Result: []byte(`{"content":[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"n":9007199254740993}}`)}, nil
	}
	status, body := s.Ask("POST", "/api/v1/call", `{"server":"files","tool":"echo","arguments":{"n":9007199254740993, "a":"<&>"}}`)
	var r CallResult
	require.Equal(t, 200, status)
	require.NoError(t, json.Unmarshal([]byte(body), &r))
	assert.Truef(t, r.Success && r.Output == "hi\n[image image/png, 3 bytes]" && string(r.Data) == `{"n":9007199254740993}` && r.Error == "", "got %s", body)
	if string(got.Params) != `{"name":"echo","arguments":{"n":9007199254740993, "a":"<&>"},"_meta":{"progressToken":1}}` ||
		string(got.Params[got.ProgressToken.Start:got.ProgressToken.End]) != "1" ||
		string(got.Params[got.Arguments.Start:got.Arguments.End]) != `{"n":9007199254740993, "a":"<&>"}` {
		t.Errorf("the server would get %s", got.Params)
	}
	assert.Truef(t, got.Client.Name == "drawbridge-cli" && got.Server == "files" && got.Name == "echo", "the call is %+v", got)
	var detail CallDetail
	s.Get(t, "/api/v1/calls/"+r.CallID, &detail)
	if detail.Arguments != `{"n":9007199254740993, "a":"<&>"}` || detail.Client != "drawbridge-cli" || detail.Outcome != core.OutcomeOK {
		t.Errorf("recorded as %+v", detail)
	}
	log := detail.ProgressLog
	assert.Truef(t, len(log) == 1 && log[0] == (ProgressNotification{12, `{"progress":1.0,"total":2,"message":"<a>"}`}), "its progress is %+v", log)
	var list web.List[Call]
	s.Get(t, "/api/v1/calls?server=files&q=9007199254740993", &list)
	assert.Truef(t, len(list.Items) == 1 && list.Items[0].ID == r.CallID && list.Next == "", "the history lists %+v", list)
}

func TestReplayCallsTheLiveServer(t *testing.T) {
	s := newSite(t)
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		switch c.Method + " " + c.Name + " " + string(c.Params) {
		case `tools/call echo {"name":"echo","arguments":{"n":1.0}}`:
			return core.Reply{Result: []byte(`{"content":[], "n":1.0}`)}, nil
		case `prompts/get greet {"name":"greet"}`:
			return core.Reply{Error: []byte(`{"code":-1,"message":"no"}`)}, nil
		case `resources/read a:b {"uri":"a:b"}`:
			return core.Reply{}, core.Errorf(core.CodeRejected, "denied")
		}
		return core.Reply{}, fmt.Errorf("unexpected %s of %q: %s", c.Method, c.Name, c.Params)
	}
	for request, want := range map[[2]string]string{
		{"tools/call", `{"name":"echo","arguments":{"n":1.0}}`}: `200 {"result":"{\"content\":[], \"n\":1.0}"}`,
		{"prompts/get", `{"name":"greet"}`}:                     `200 {"error":"{\"code\":-1,\"message\":\"no\"}"}`,
		{"resources/read", `{"uri":"a:b"}`}:                     `403 `,
		{"resources/read", `{}`}:                                `400 `,
		{"initialize", `{"name":"echo"}`}:                       `400 `,
	} {
		sent, _ := json.Marshal(LiveRequest{"files", request[0], request[1]})
		status, said := s.Ask("POST", "/api/v1/live-call", string(sent))
		got := fmt.Sprint(status, " ", strings.TrimSpace(said))
		assert.Truef(t, strings.HasPrefix(got, want), "%s: %s", sent, got)
	}
}

func TestFailedCallReportsReason(t *testing.T) {
	for name, c := range map[string]struct {
		reply core.Reply
		err   error
		want  string
		code  core.Code
	}{
		"ours":              {err: &core.Error{Code: core.CodeUnavailable, Message: "server is away", Hint: "Start it.", Cause: errors.New("secret")}, want: "server is away. Start it.", code: core.CodeUnavailable},
		"protocol":          {reply: core.Reply{Error: []byte(`{"code":-32602,"message":"bad"}`)}, want: "bad (code=-32602)"},
		"text":              {reply: core.Reply{Result: []byte(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`)}, want: "no such file"},
		"structured":        {reply: core.Reply{Result: []byte(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"message":"slow","errorCode":"E_TIMEOUT","retryable":false},"isError":true}`)}, want: "slow (code=E_TIMEOUT retriable=false)"},
		"structured, error": {reply: core.Reply{Result: []byte(`{"structuredContent":{"error":"oh","detail":"d"},"isError":true}`)}, want: "oh"},
		"structured, inner": {reply: core.Reply{Result: []byte(`{"structuredContent":{"error":{"message":"in","code":7}},"isError":true}`)}, want: "in (code=7)"},
		"structured, last":  {reply: core.Reply{Result: []byte(`{"structuredContent":{"detail":"d"},"isError":true}`)}, want: "d"},
		"nothing":           {reply: core.Reply{Result: []byte(`{"isError":true,"x":"` + strings.Repeat("y", 3000) + `"}`)}, want: `{"isError":true,"x":"` + strings.Repeat("y", 1979) + "…"},
		"odd":               {reply: core.Reply{Result: []byte(`{"structuredContent":[1],"content":[null],"isError":true}`)}, want: "[1]"},
	} {
		got := parseToolResult(c.reply, c.err)
		assert.Truef(t, !got.Success && got.Error == c.want && got.Code == c.code, "%s: %+v", name, got)
	}
}

// The API cannot follow a task, so a call that created one is not a success without output.
func TestCallThatCreatesATaskIsNotASuccess(t *testing.T) {
	s := newSite(t)
	for _, result := range []string{`{"task":{"taskId":"a","status":"working"}}`, `{"resultType":"task","taskId":"a","status":"working"}`} {
		s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
			c.Outcome, c.Reason = core.OutcomeProtocolError, "the server sent a task" // as the gateway does
			return core.Reply{Result: []byte(result)}, nil
		}
		_, body := s.Ask("POST", "/api/v1/call", `{"server":"files","tool":"echo"}`)
		var r CallResult
		err := json.Unmarshal([]byte(body), &r)
		assert.Truef(t, err == nil && !r.Success && strings.Contains(r.Error, "task") && string(r.Raw) == result, "%s: %s", result, body)
	}
}

// A call that was sent to a server is answered with 200, whatever its outcome, as docs/errors.md
// specifies.
func TestFailedCallIsAResponseNotAProblem(t *testing.T) {
	s := newSite(t)
	for _, code := range []core.Code{core.CodeNotFound, core.CodeTimeout, core.CodeUnavailable, core.CodeInternal} {
		s.call = func(context.Context, *core.Call) (core.Reply, error) { return core.Reply{}, core.Errorf(code, "no") }
		status, body := s.Ask("POST", "/api/v1/call", `{"server":"files","tool":"echo"}`)
		var r CallResult
		err := json.Unmarshal([]byte(body), &r)
		assert.Truef(t, err == nil && status == 200 && !r.Success && r.Code == code && r.Error == "no" && r.CallID != "", "%s: %d %s", code, status, body)
	}
}
