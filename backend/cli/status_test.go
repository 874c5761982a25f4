package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestNoticesAreAcknowledged(t *testing.T) {
	f := newFake(t)
	f.answer("GET /api/v1/status", `{"notices":[{"subject":"command:a b","message":"Server \"a b\" is running a new command."},{"subject":"vault","message":"No keyring."}]}`)
	var gone []string
	f.mux.HandleFunc("DELETE /api/v1/notices/{subject}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("subject") == "vault" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(404)
			io.WriteString(w, `{"code":"not_found","detail":"it lasts"}`)
			return
		}
		gone = append(gone, r.PathValue("subject"))
		w.WriteHeader(http.StatusNoContent)
	})
	if got := f.run(true, "status", "--ack"); got.code != 0 || strings.Join(gone, ",") != "command:a b" || !strings.Contains(got.out, "Acknowledged 1 notice; 1 not acknowledged") {
		t.Errorf("%+v, %v", got, gone)
	}
}
