package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestCallResultIsPrintedOnce(t *testing.T) {
	f := newFakeDaemon(t)
	f.answer("POST /api/v1/call", `{"success":true,"output":"notes.txt\n","data":{"content":"notes.txt"},"raw":{}}`)
	if got := f.run(false, "call", "files", "list"); got.out != "notes.txt\n" {
		t.Errorf("%+v", got)
	}
}

func TestCallReportsResultNotMatchingSchema(t *testing.T) {
	t.Parallel()
	f := newFakeDaemon(t)
	f.answer("GET /api/v1/calls/7", `{"id":"7","server":"demo","tool":"add","outcome":"ok","servedBy":{"name":"fs","version":"1.2","package":"fs@1.2","definition":"abcd"},"invalid":"sum must be\nnumber","invalidAs":"error","result":"{}"}`)
	got := f.run(true, "history", "7")
	if !strings.Contains(got.out, "\nanswered by fs 1.2 (fs@1.2), definition abcd\n") {
		t.Errorf("%+v", got)
	}
	if got.code != 0 || !strings.Contains(got.out, "\ninvalid: the result does not match the tool's outputSchema: sum must be number\n") {
		t.Errorf("%+v", got)
	}
}

// Scripts tell a timeout from an unknown tool. The document has the same five keys in each case.
func TestCallAsJSONPrintsErrorCode(t *testing.T) {
	t.Parallel()
	f := newFakeDaemon(t)
	f.answer("POST /api/v1/call", `{"success":false,"output":"","data":null,"error":"server \"files\" did not respond in time","code":"timeout","raw":null,"callId":"7"}`)
	want := `{"success":false,"output":"","data":null,"error":"server \"files\" did not respond in time","raw":null}` + "\n"
	got := f.run(false, "call", "files", "list", "--json")
	if got.code != 1 || got.out != want || !strings.Contains(got.errOut, `"code":"timeout"`) || !strings.Contains(got.errOut, `"detail":"server \"files\" did not respond in time"`) {
		t.Errorf("%+v", got)
	}
}

func TestInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	f := newFakeDaemon(t)
	ctx, interrupt := context.WithCancel(t.Context())
	f.mux.HandleFunc("POST /api/v1/call", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices only then that the client is gone
		interrupt()
		<-r.Context().Done()
	})
	if got := f.runIn(ctx, false, "call", "files", "list"); got.code != 1 || got.out != "" || got.errOut != "drawbridge: interrupted\n" {
		t.Errorf("%+v", got)
	}
}
