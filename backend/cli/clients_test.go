package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestMissingClientsAreCounted(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	f := newFakeDaemon(t)
	got := f.run(true, "clients")
	if got.code != 0 || strings.Contains(got.out, "not installed") || !strings.Contains(got.out, "drawbridge clients --all") {
		t.Errorf("%+v", got)
	}
	if got = f.run(true, "clients", "--all"); strings.Count(got.out, "not installed") < 50 {
		t.Errorf("%+v", got)
	}
}

func TestClientNameIsCaseInsensitive(t *testing.T) {
	f := newFakeDaemon(t)
	f.answer("GET /api/v1/clients", `{"items":[{"token":"codex","name":"codex-mcp-client"},{"token":"","name":"Cursor"}]}`)
	var asked string
	f.mux.HandleFunc("GET /api/v1/calls", func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Query().Get("client")
		io.WriteString(w, `{"items":[]}`)
	})
	for text, want := range map[string]string{"Codex": "codex", "cursor": "Cursor", "codex": "codex", "gone": "gone"} {
		if got := f.run(true, "history", "--client", text); got.code != 0 || asked != want || got.out != "No calls match.\n" {
			t.Errorf("%s: %+v, asked for %q", text, got, asked)
		}
	}
	if got := f.run(true, "history", "stats"); got.code != 2 || !strings.Contains(got.errOut, "is not a call id") {
		t.Errorf("%+v", got)
	}
}
