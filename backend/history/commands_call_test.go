package history

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
)

func TestCallResultIsPrintedOnce(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("POST /api/v1/call", `{"success":true,"output":"notes.txt\n","data":{"content":"notes.txt"},"raw":{}}`)
	assert.Equal(t, "notes.txt\n", f.Run(false, "call", "files", "list").Out)
}

func TestCallReportsResultNotMatchingSchema(t *testing.T) {
	t.Parallel()
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/calls/7000", `{"id":"7","server":"demo","tool":"add","outcome":"ok","servedBy":{"name":"fs","version":"1.2","package":"fs@1.2","definition":"abcd"},"invalid":"sum must be\nnumber","invalidAs":"error","result":"{}"}`)
	got := f.Run(true, "history", "7000")
	assert.Contains(t, got.Out, "\nanswered by fs 1.2 (fs@1.2), definition abcd\n")
	assert.Equal(t, 0, got.Code)
	assert.Contains(t, got.Out, "\ninvalid: the result does not match the tool's outputSchema: sum must be number\n")
}

// Scripts tell a timeout from an unknown tool. The document has the same five keys in each case.
func TestCallAsJSONPrintsErrorCode(t *testing.T) {
	t.Parallel()
	f := terminaltest.New(t, Commands)
	f.Answer("POST /api/v1/call", `{"success":false,"output":"","data":null,"error":"server \"files\" did not respond in time","code":"timeout","raw":null,"callId":"7"}`)
	want := `{"success":false,"output":"","data":null,"error":"server \"files\" did not respond in time","raw":null}` + "\n"
	got := f.Run(false, "call", "files", "list", "--json")
	if got.Code != 1 || got.Out != want || !strings.Contains(got.Err, `"code":"timeout"`) || !strings.Contains(got.Err, `"detail":"server \"files\" did not respond in time"`) {
		t.Errorf("%+v", got)
	}
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	f := terminaltest.New(t, Commands)
	ctx, interrupt := context.WithCancel(t.Context())
	f.Mux.HandleFunc("POST /api/v1/call", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only then that the client is gone
		interrupt()
		<-r.Context().Done()
	})
	got := f.RunIn(ctx, false, "call", "files", "list")
	assert.Truef(t, got.Code == 1 && got.Out == "" && got.Err == "drawbridge: interrupted\n", "%+v", got)
}

func TestCallPrintsFiveKeysAndAToolErrorExits1(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Mux.HandleFunc("POST /api/v1/call", func(w http.ResponseWriter, r *http.Request) {
		var req CallRequest
		err := json.NewDecoder(r.Body).Decode(&req)
		assert.Truef(t, err == nil && req.Server == "demo", "%+v, %v", req, err)
		switch req.Tool {
		case "add":
			assert.Equal(t, `{"a":9007199254740993}`, string(req.Arguments))
			io.WriteString(w, `{"success":true,"output":"3","data":{"sum":9007199254740993,"list":[],"text":"a\nb"},"error":null,"raw":{"x":1}}`)
		case "fail":
			io.WriteString(w, `{"success":false,"output":"it broke","data":null,"error":"it broke","raw":{"isError":true},"callId":"2"}`)
		}
	})
	got := f.Run(false, "call", "demo", "add", `{"a":9007199254740993}`)
	want := "3\n{\n  \"sum\": 9007199254740993,\n  \"list\": [],\n  \"text\": \"a\\nb\"\n}\n"
	assert.Truef(t, got.Out == want && got.Code == 0, "%+v", got)
	got = f.Run(false, "call", "demo", "add", `{"a":9007199254740993}`, "--json")
	want = `{"success":true,"output":"3","data":{"sum":9007199254740993,"list":[],"text":"a\nb"},"error":null,"raw":{"x":1}}` + "\n"
	assert.Equal(t, want, got.Out)
	if got = f.Run(false, "call", "demo", "fail"); got.Code != 1 || got.Out != "" || got.Err != "drawbridge: it broke\n" {
		t.Errorf("%+v", got)
	}
	if got = f.Run(false, "call", "demo", "fail", "--json"); got.Code != 1 || got.Err != "" || !strings.HasPrefix(got.Out, `{"success":false,`) {
		t.Errorf("%+v", got)
	}
	for _, bad := range []string{"[1]", "{", ""} {
		if got = f.Run(false, "call", "demo", "add", bad); got.Code != 2 {
			t.Errorf("%q: %+v", bad, got)
		}
	}
}
