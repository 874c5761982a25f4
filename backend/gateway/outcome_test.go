package gateway

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Only the user gets to know that what a client calls exists.
func TestReasonNamesHidingProfileForUserOnly(t *testing.T) {
	for name, similar := range map[string]string{"files__read": "", `": the profile "`: "", "files__reed": `x" hides it from this client`} {
		err := core.Errorf(core.CodeNotFound, "there is no tool named %q%s", name, core.DidYouMean(similar))
		call := &core.Call{HiddenBy: "work", Similar: similar}
		classify(call, core.Reply{}, err, stageAdmitting)
		assert.Contains(t, call.Reason, `": the profile "work" hides it from this client`)
		assert.Equal(t, err.Error(), call.ReasonForClient())
	}
}

func TestFailedToolReasonIsExtracted(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[{"type":"text","text":"T"}],"structuredContent":{"message":"M","error":"E","detail":"D"}}`: "M",
		`{"content":[{"type":"text","text":"T"}],"structuredContent":{"error":"E","detail":"D"}}`:               "E",
		`{"content":[{"type":"text","text":"T"}],"structuredContent":{"error":{"message":"EM"},"detail":"D"}}`:  "EM",
		`{"content":[{"type":"text","text":"T"}],"structuredContent":{"error":{},"detail":"D"}}`:                "D",
		`{"content":[{"type":"text","text":"T"},{"type":"text","text":"U"}],"structuredContent":{"x":1}}`:       "T\nU",
		`{"content":[],"structuredContent":{"message":"M","code":"E_TIMEOUT","retriable":false}}`:               "M (code=E_TIMEOUT retriable=false)",
		`{"content":[],"structuredContent":{"message":"M","errorCode":7,"retryable":"true"}}`:                   "M (code=7 retriable=true)",
		`{"content":[],"structuredContent":{"message":"M","statusCode":503,"retriable":1}}`:                     "M (code=503 retriable=true)",
		`{"content":[],"structuredContent":{"error":{"message":"M","code":"X","retriable":"1"}}}`:               "M (code=X retriable=true)",
		`{"content":[],"structuredContent":{"message":"M","code":{"a":1},"retriable":"perhaps"}}`:               "M",
		`{"content":[],"structuredContent":{"x":1}}`:                                                            `{"x":1}`,
		`{"content":[],"isError":true}`:                                              `{"content":[],"isError":true}`,
		`{"content":[{"type":"text","text":"T"}],"structuredContent":null}`:          "T",
		`{"content":[{"type":"text","text":"T"}],"structuredContent":{"message":7}}`: "T",
	} {
		assert.Equal(t, want, FailureOf([]byte(result)).Text, result)
	}
	long := FailureOf([]byte(`{"isError":true,"x":"` + strings.Repeat("é", 5000) + `"}`)).Text
	assert.Equal(t, maxReason+1, utf8.RuneCountInString(long), "an excerpt")
	assert.Equal(t, `{"message":"M","deep":[1.0,{"a":2}]}`, string(FailureOf([]byte(`{"structuredContent":{"message":"M","deep":[1.0,{"a":2}]}}`)).Cause))
}

// The reason is limited as docs/errors.md describes: 2,000 characters, with the whole suffix.
func TestFailedToolReasonIsLimitedTo2000Characters(t *testing.T) {
	t.Parallel()
	long, cut := strings.Repeat("é", 5000), strings.Repeat("é", 2000)+"…"
	for result, want := range map[string]string{
		`{"isError":true,"content":[{"type":"text","text":"` + long + `"}]}`:                                         cut,
		`{"isError":true,"content":[],"structuredContent":{"message":"` + long + `","code":"E_X","retriable":true}}`: cut + " (code=E_X retriable=true)",
		`{"isError":true,"content":[{"type":"text","text":"` + long[:4000] + `"}]}`:                                  long[:4000],
		`{"isError":true,"content":[],"structuredContent":{"message":"M","code":"E_X"}}`:                             "M (code=E_X)",
		`{"isError":true,"content":[],"structuredContent":{"code":"E_X","x":"` + strings.Repeat("x", 5000) + `"}}`:   `{"code":"E_X","x":"` + strings.Repeat("x", 1981) + "… (code=E_X)",
	} {
		call := &core.Call{Method: "tools/call"}
		classify(call, core.Reply{Result: json.RawMessage(result)}, nil, stageSending)
		require.Equal(t, core.OutcomeToolError, call.Outcome)
		require.Equal(t, want, call.Reason)
	}
	call := &core.Call{Method: "tools/call"}
	if classify(call, core.Reply{Error: json.RawMessage(`{"code":-1,"message":"` + long + `"}`)}, nil, stageSending); call.Reason != cut {
		t.Errorf("%d characters of an error", utf8.RuneCountInString(call.Reason))
	}
}

func FuzzFailedToolContent(f *testing.F) {
	f.Add(`{"content":[],"structuredContent":{"message":"M","code":"E","retriable":1}}`)
	f.Fuzz(func(t *testing.T, result string) {
		text := FailureOf([]byte(result)).Text
		require.Truef(t, utf8.ValidString(text), "%q", text)
	})
}

// A task that failed before it could be cancelled has failed, and is not counted as ok.
func TestTaskThatFailedBeforeItsCancellationIsAFailure(t *testing.T) {
	for status, want := range map[string]core.Outcome{"failed": core.OutcomeProtocolError, "cancelled": core.OutcomeOK, "working": core.OutcomeOK} {
		call := &core.Call{ID: 8, Method: "tasks/cancel", Task: &core.Task{Call: 7, ID: "a", TTL: -1}}
		classify(call, core.Reply{Result: json.RawMessage(`{"taskId":"a","status":"` + status + `","statusMessage":"broken"}`)}, nil, stageSending)
		require.Equal(t, want, call.Outcome)
		require.Equal(t, status == "failed", call.Reason == "broken")
	}
}

// A caller that did not ask for a task cannot fetch its result, so its call has failed.
func TestTaskThatWasNotAskedForIsAFailure(t *testing.T) {
	const legacy, modern = `{"task":{"taskId":"a","status":"working"}}`, `{"resultType":"task","taskId":"a","status":"working"}`
	for era, results := range map[core.Era][]string{core.Legacy: {legacy, modern}, core.Modern: {modern}} {
		for _, result := range results {
			call := &core.Call{ID: 7, Era: era, Method: "tools/call", Capabilities: []byte(`{"extensions":{}}`)}
			classify(call, core.Reply{Result: json.RawMessage(result)}, nil, stageSending)
			if call.Outcome != core.OutcomeProtocolError || !strings.Contains(call.Reason, "did not ask") || call.Task != nil {
				t.Errorf("%s %s: %s %q %+v", era, result, call.Outcome, call.Reason, call.Task)
			}
		}
	}
}

// A task is recognized by its reply. A server cannot make it look like another one, or like an endless one.
func TestTaskOfACallFollowsFromItsReply(t *testing.T) {
	created := func(era core.Era, result string) *core.Task {
		return taskAfter(&core.Call{ID: 7, Era: era, Method: "tools/call", Params: []byte(`{"task":{}}`), Capabilities: []byte(`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`)}, core.Reply{Result: []byte(result)})
	}
	got := created(core.Modern, `{"resultType":"task","taskId":"a","status":"working","ttlMs":1000}`)
	assert.Truef(t, got != nil && *got == (core.Task{Call: 7, ID: "a", Status: "working", TTL: time.Second}), "%+v", got)
	got = created(core.Legacy, `{"task":{"taskId":"a","status":"input_required","ttl":null}}`)
	assert.Truef(t, got != nil && *got == (core.Task{Call: 7, ID: "a", Status: "input_required", TTL: -1}), "%+v", got)
	for _, no := range []string{`{"task":{"taskId":"a"}}`, `{"resultType":"complete","taskId":"a"}`, `{"resultType":"task","taskId":""}`, `{"resultType":"task","taskId":5}`,
		`{"resultType":"task","taskId":"` + strings.Repeat("x", core.MaxTaskID+1) + `"}`, `{"content":[{"type":"text","text":"\"taskId\""}]}`} {
		assert.Nilf(t, created(core.Modern, no), "%.60s", no)
	}
	after := func(method, result, rpcError string) core.Task {
		return *taskAfter(&core.Call{ID: 8, Method: method, Task: &core.Task{Call: 7, ID: "a", TTL: -1}}, core.Reply{Result: []byte(result), Error: []byte(rpcError)})
	}
	for _, tt := range []struct {
		method, result, rpcError string
		want                     core.Task
	}{
		{method: "tasks/get", result: `{"taskId":"other","status":"working"}`, want: core.Task{Status: "working"}},
		{method: "tasks/get", result: `{"status":"completed","result":{}}`, want: core.Task{Status: "completed", Ended: true, HasResult: true}},
		{method: "tasks/get", result: `{"status":"failed"}`, want: core.Task{Status: "failed", Ended: true}},
		{method: "tasks/get", result: `{"status":"` + strings.Repeat("é", 100) + `"}`, want: core.Task{Status: strings.Repeat("é", maxTaskStatus/2)}},
		{method: "tasks/get", rpcError: `{"code":-32602}`, want: core.Task{Ended: true}},
		{method: "tasks/get", rpcError: `{"code":-32603}`},
		{method: "tasks/result", result: `{"status":"x"}`, want: core.Task{Ended: true, HasResult: true}},
		{method: "tasks/update", result: `{"status":"completed"}`},
		{method: "tasks/cancel", result: `{}`},
	} {
		tt.want.Call, tt.want.ID, tt.want.TTL = 7, "a", -1
		assert.Equalf(t, tt.want, after(tt.method, tt.result, tt.rpcError), "%s %s%s", tt.method, tt.result, tt.rpcError)
	}
}
