package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServersAreAddedAndRemoved(t *testing.T) {
	f := newFakeDaemon(t)
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
