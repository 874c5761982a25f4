package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServersAreAddedAndRemoved(t *testing.T) {
	f := newFake(t)
	t.Setenv("HOME", t.TempDir())
	var sent, removed string
	f.mux.HandleFunc("POST /api/v1/servers", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		io.WriteString(w, `{"id":"files","label":"files","state":"starting"}`)
	})
	f.mux.HandleFunc("DELETE /api/v1/servers/{id}", func(w http.ResponseWriter, r *http.Request) {
		removed = r.PathValue("id")
		w.WriteHeader(http.StatusNoContent)
	})
	for want, args := range map[string][]string{
		`{"name":"files","entry":{"command":"npx","args":["-y","--json","x y"]}}`: {"add", "files", "--no-test", "--", "npx", "-y", "--json", "x y"},
		`{"name":"docs","entry":{"url":"https://example.com/mcp"}}`:               {"add", "--no-test", "docs", "https://example.com/mcp"},
	} {
		if got := f.run(false, args...); got.code != 0 || !strings.HasSuffix(got.out, ": added\n") || sent != want {
			t.Errorf("%v: %+v, sent %s", args, got, sent)
		}
	}
	for _, args := range [][]string{{"add", "x"}, {"add", "x", "http://a/mcp", "more"}, {"remove"}, {"debug"}} {
		if got := f.run(false, args...); got.code != 2 {
			t.Errorf("%v: %+v", args, got)
		}
	}
	if got := f.run(false, "remove", "files"); got.code != 0 || got.out != "files: removed\n" || removed != "files" {
		t.Errorf("%+v", got)
	}
	if got := f.run(false, "remove", "files", "--json"); !json.Valid([]byte(got.out)) {
		t.Errorf("%+v", got)
	}
}

func TestConnectIsAliasOfStart(t *testing.T) {
	f := newFake(t)
	for alias, action := range map[string]string{"connect": "start", "disconnect": "stop", "reconnect": "restart"} {
		f.answer("POST /api/v1/servers/files/"+action, `{"id":"files","state":"running"}`)
		if got := f.run(false, alias, "files"); got.code != 0 || got.out != "files: Connected\n" {
			t.Errorf("%s: %+v", alias, got)
		}
	}
}

func TestDebugIsReadable(t *testing.T) {
	f := newFake(t)
	const doc = `{"status":{"id":"files","label":"files","state":"crashed","reason":"exit code 3"},"configured":"npx x","environment":["A","B"],"processes":[{"pid":7,"name":"node","rssBytes":1500000}],"stderr":["\u001b[31mbad"],"frames":[{"at":"2026-01-02T03:04:05Z","sent":true,"text":"{\"id\":1}","bytes":8}],"timings":{"startTookNs":1500000000}}`
	f.answer("GET /api/v1/servers/files/debug", doc)
	got := f.run(true, "debug", "files")
	for _, want := range []string{"Server        files: Failed\n", "Reason        exit code 3\n", "Configured    npx x\n", "Environment   A, B\n", "Process       7 node, 1.5 MB\n", "Startup time  1.5s\n", "bad\n", `-> 8 bytes  {"id":1}`} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is not in\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, "\x1b") || strings.Contains(got.out, "Executable") || got.code != 0 {
		t.Errorf("%+v", got)
	}
	if got := f.run(true, "debug", "files", "--json"); got.out != doc+"\n" {
		t.Errorf("%+v", got)
	}
}

func TestInvalidFiltersExit2(t *testing.T) {
	f := newFake(t)
	for _, args := range [][]string{{"history", "--limit", "-1"}, {"history", "--limit", "0"}, {"history", "--limit", "501"}, {"history", "--outcome", "bogus"}} {
		if got := f.run(false, args...); got.code != 2 || got.out != "" {
			t.Errorf("%v: %+v", args, got)
		}
	}
	f.mux.HandleFunc("GET /api/v1/tools", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(404)
		io.WriteString(w, `{"code":"not_found","detail":"there is no such server"}`)
	})
	if got := f.run(false, "tools", "nobody"); got.code != 1 || !strings.Contains(got.errOut, `there is no server named "nobody"`) {
		t.Errorf("%+v", got)
	}
}
