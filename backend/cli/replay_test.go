package cli

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportedCassetteIsServed(t *testing.T) {
	f := newFake(t)
	f.answer("GET /api/v1/tools", `{"items":[{"name":"files__read","server":"files","tool":"read","raw":"{\"title\":\"<R>\",\"name\":\"files__read\",\"inputSchema\":{\"type\":\"object\"}}"}]}`)
	f.mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("before") == "" { // two pages, newest first
			io.WriteString(w, `{"items":[{"id":"5","method":"tools/call"},{"id":"4","method":"tools/call"},{"id":"3","method":"tools/call"}],"next":"3"}`)
			return
		}
		io.WriteString(w, `{"items":[{"id":"2","method":"tools/call"},{"id":"1","method":"tools/call"},{"id":"0","method":"resources/read"}],"next":""}`)
	})
	f.answer("GET /api/v1/calls/5", `{"id":"5","tool":"read","arguments":"{\"n\":2}","result":"{\"cut","replyCut":{}}`)
	f.answer("GET /api/v1/calls/4", `{"id":"4","tool":"read","arguments":"{\"n\":3}","result":"{\"key\":\"[redacted]\"}"}`)
	f.answer("GET /api/v1/calls/3", `{"id":"3","tool":"read","arguments":"{\"key\":\"[redacted]\"}","result":"{}"}`)
	f.answer("GET /api/v1/calls/2", `{"id":"2","tool":"read","arguments":"{\"n\":1}","result":"{ \"text\":\"<é>\" }"}`)
	f.answer("GET /api/v1/calls/1", `{"id":"1","tool":"read","arguments":"{\"n\":1}","result":"{\"text\":\"oldest\"}"}`)
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	got := f.run(true, "replay", "export", "files", path)
	if got.code != 0 || got.out != "4 calls and 1 tool written to "+path+"\n2 of them without their result, because it was redacted or truncated\n1 call skipped: no response, or arguments that were redacted or truncated\n" {
		t.Fatalf("%d %q %q", got.code, got.out, got.errOut)
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), "[redacted]") {
		t.Errorf("%v\n%s", err, data)
	}
	if got := f.run(true, "replay", "export", "files", path); got.code != 1 || !strings.Contains(got.errOut, "exists") {
		t.Errorf("an existing file was replaced: %+v", got)
	}
	got = f.typed(`{"id":1,"method":"tools/list"}
{"id":2,"method":"tools/call","params":{"name":"read","arguments":{"n":1}}}
{"id":3,"method":"tools/call","params":{"name":"read","arguments":{"n":1}}}
{"id":4,"method":"tools/call","params":{"name":"read","arguments":{"n":2}}}
`, "replay", path)
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"title":"<R>","name":"read","inputSchema":{"type":"object"}}]}}
{"jsonrpc":"2.0","id":2,"result":{"text":"oldest"}}
{"jsonrpc":"2.0","id":3,"result":{ "text":"<é>" }}
{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"the cassette cannot serve this call: the recorded result is truncated"}}
`
	if got.code != 0 || got.out != want {
		t.Errorf("%d %s%s", got.code, got.out, got.errOut)
	}
}
