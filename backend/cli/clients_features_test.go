package cli

import (
	"net/http"
	"strings"
	"testing"
)

func TestFeaturesArePrintedAsTable(t *testing.T) {
	f := newFakeDaemon(t)
	f.mux.HandleFunc("GET /api/v1/features", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("client") != "cursor" {
			t.Errorf("asked for %s", r.URL)
		}
		_, _ = w.Write([]byte(`{"items":[{"token":"cursor","name":"Cursor","era":"legacy","servers":[
			{"server":"files","known":true,"features":[{"name":"tools","how":"passes"},{"name":"roots","how":"not client"},{"name":"elicitation","how":"with approval"}]},
			{"server":"late","known":false,"features":[]}]}],"next":""}`))
	})
	got := f.run(false, "clients", "features", "--client", "cursor")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if got.code != 0 || len(lines) != 3 {
		t.Fatalf("%+v", got)
	}
	for i, want := range []string{"Client  Era     Server", "Cursor  legacy  files   roots", "Cursor  legacy  late    not known yet"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
	if !strings.Contains(lines[1], "elicitation") {
		t.Errorf("%q", lines[1])
	}
}
