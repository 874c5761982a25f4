package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestProfileNeedsExistingServers checks that servers are accepted by their display name and that
// unknown ones are rejected.
func TestProfileNeedsExistingServers(t *testing.T) {
	f := newFake(t)
	f.mux.HandleFunc("GET /api/v1/servers/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "my files" {
			io.WriteString(w, `{"id":"my-files","label":"my files"}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(404)
		io.WriteString(w, `{"code":"not_found","detail":"there is no such server"}`)
	})
	said := make(chan string, 2)
	hear := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said <- string(body)
		io.WriteString(w, `{}`)
	}
	f.mux.HandleFunc("PUT /api/v1/profiles/{name}", hear)
	f.mux.HandleFunc("PUT /api/v1/client-views/{token}", hear)
	if got := f.run(false, "profiles", "set", "work", "nosuch"); got.code != 1 || !strings.Contains(got.errOut, `there is no server named "nosuch"`) {
		t.Errorf("%+v", got)
	}
	if got := f.run(false, "profiles", "set", "work", "my files:read"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if one := <-said; one != `{"entry":{"servers":{"my-files":{"includeTools":["read"]}}}}` {
		t.Error(one)
	}
	if got := f.run(false, "profiles", "use", "cursor", "office"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	if one := <-said; one != `{"profile":"office","toolMode":""}` {
		t.Error(one)
	}
	if got := f.run(false, "profiles", "use", "cursor", "office", "--profile", "work"); got.code != 2 {
		t.Errorf("%+v", got)
	}
}
