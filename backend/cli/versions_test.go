package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

const someImage = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestStatusShowsKnownVersions(t *testing.T) {
	const servers = `{"servers":[{"id":"time","label":"time","state":"running"},{"id":"box","label":"box","state":"running"},{"id":"plain","label":"plain","state":"running"}]}`
	for name, c := range map[string]struct {
		versions string
		status   int
		want     []string // last cell of each server's row
	}{
		"known":     {`{"items":[{"server":"time","version":"2025.9.25"},{"server":"box","version":"` + someImage + `"},{"server":"plain","version":""}]}`, 200, []string{"Version", "2025.9.25", "sha256:0123456789abcdef…", ""}},
		"none":      {`{"items":[]}`, 200, nil},
		"not known": {`{"items":[{"server":"time","version":""}]}`, 200, nil},
		"no answer": {`{"status":500,"detail":"broken"}`, 500, nil},
		"no JSON":   {`what`, 200, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			f.answer("GET /api/v1/status", servers)
			f.mux.HandleFunc("GET /api/v1/versions", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.versions)
			})
			got := f.run(false, "status")
			if got.code != 0 || !strings.Contains(got.out, "plain") {
				t.Fatalf("%+v", got)
			}
			if c.want == nil {
				if strings.Contains(got.out, "Version") {
					t.Errorf("a column for nothing:\n%s", got.out)
				}
				return
			}
			for _, cell := range c.want {
				if !strings.Contains(got.out, cell) {
					t.Errorf("%q is missing:\n%s", cell, got.out)
				}
			}
			at := slices.IndexFunc(strings.Split(got.out, "\n"), func(l string) bool { return strings.HasPrefix(l, "time") })
			if at < 0 || !strings.HasSuffix(strings.TrimSpace(strings.Split(got.out, "\n")[at]), "2025.9.25") {
				t.Errorf("the version is not in its server's row:\n%s", got.out)
			}
		})
	}
}

func TestImageVersionsNameTheirSource(t *testing.T) {
	f := newFake(t)
	f.answer("GET /api/v1/versions", `{"items":[{"server":"box","launcher":"image","package":"mcp/time","version":"`+someImage+`","source":"container"},{"server":"next","launcher":"image","package":"mcp/time","version":"`+someImage+`","source":"image","pinned":true}]}`)
	got := f.run(false, "versions")
	for _, want := range []string{"running container", "resolved locally", "sha256:0123456789abcdef…", "yes"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing:\n%s", want, got.out)
		}
	}
}
