package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
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
			f := newFakeDaemon(t)
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
	f := newFakeDaemon(t)
	f.answer("GET /api/v1/versions", `{"items":[{"server":"box","launcher":"image","package":"mcp/time","version":"`+someImage+`","source":"container"},{"server":"next","launcher":"image","package":"mcp/time","version":"`+someImage+`","source":"image","pinned":true}]}`)
	got := f.run(false, "versions")
	for _, want := range []string{"running container", "resolved locally", "sha256:0123456789abcdef…", "yes"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("%q is missing:\n%s", want, got.out)
		}
	}
}

// With --yes, calls are sent only with --compare.
func TestVersionsAreComparedOnRequest(t *testing.T) {
	for args, want := range map[string]string{
		"":                      "plan compare",
		"--compare=false":       "plan",
		"--yes":                 "plan apply",
		"--yes --compare":       "plan compare apply",
		"--yes --compare=false": "plan apply",
	} {
		t.Run(args, func(t *testing.T) {
			f := newFakeDaemon(t)
			var actions []string
			f.mux.HandleFunc("POST /api/v1/servers/files/version", func(w http.ResponseWriter, r *http.Request) {
				var order api.ChangeVersionInputBody
				if err := json.NewDecoder(r.Body).Decode(&order); err != nil {
					t.Error(err)
				}
				actions = append(actions, order.Action)
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"server":"files","key":"k","from":"1","to":"2","changes":[],"applied":%t,"comparison":{"calls":[{"tool":"read","result":"alike"}],"alike":1,"enough":true}}`, order.Action == "apply")
			})
			got := f.run(false, append([]string{"versions", "update", "files"}, strings.Fields(args)...)...)
			if got.code != 0 || strings.Join(actions, " ") != want {
				t.Errorf("%+v, actions %v, want %s", got, actions, want)
			}
			if compared := strings.Contains(want, "compare"); compared != strings.Contains(got.out, "1 same, 0 different") || strings.Contains(got.out, "alike") {
				t.Errorf("the comparison is not shown as it should be:\n%s", got.out)
			}
		})
	}
	if help := newFakeDaemon(t).run(false, "versions", "update", "--help").out; !strings.Contains(help, "--compare") || strings.Contains(help, "rehears") {
		t.Errorf("help:\n%s", help)
	}
}
