package cli

import (
	"encoding/json"
	"net/http"
	"testing"
)

func TestServerIsRemoved(t *testing.T) {
	f := newFakeDaemon(t)
	var removed string
	f.mux.HandleFunc("DELETE /api/v1/servers/{id}", func(w http.ResponseWriter, r *http.Request) {
		removed = r.PathValue("id")
		w.WriteHeader(http.StatusNoContent)
	})
	for _, command := range []string{"remove", "debug"} {
		if got := f.run(false, command); got.code != 2 {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if got := f.run(false, "remove", "files", "--yes"); got.code != 0 || got.out != "files: removed\n" || removed != "files" {
		t.Errorf("%+v", got)
	}
	if got := f.run(false, "remove", "files", "--json"); !json.Valid([]byte(got.out)) {
		t.Errorf("%+v", got)
	}
}
