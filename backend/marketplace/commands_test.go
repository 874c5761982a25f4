package marketplace

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
)

const someImage = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImageVersionsNameTheirSource(t *testing.T) {
	f := terminaltest.New(t, Commands)
	f.Answer("GET /api/v1/versions", `{"items":[{"server":"box","launcher":"image","package":"mcp/time","version":"`+someImage+`","source":"container"},{"server":"next","launcher":"image","package":"mcp/time","version":"`+someImage+`","source":"image","pinned":true}]}`)
	got := f.Run(false, "versions")
	for _, want := range []string{"running container", "resolved locally", "sha256:0123456789abcdef…", "yes"} {
		assert.Contains(t, got.Out, want)
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
			f := terminaltest.New(t, Commands)
			var actions []string
			f.Mux.HandleFunc("POST /api/v1/servers/files/version", func(w http.ResponseWriter, r *http.Request) {
				var order ChangeVersionInputBody
				assert.NoError(t, json.NewDecoder(r.Body).Decode(&order))
				actions = append(actions, order.Action)
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"server":"files","key":"k","from":"1","to":"2","changes":[],"applied":%t,"comparison":{"calls":[{"tool":"read","result":"alike"}],"alike":1,"enough":true}}`, order.Action == "apply")
			})
			got := f.Run(false, append([]string{"versions", "update", "files"}, strings.Fields(args)...)...)
			assert.Equal(t, 0, got.Code)
			assert.Equal(t, want, strings.Join(actions, " "))
			if compared := strings.Contains(want, "compare"); compared != strings.Contains(got.Out, "1 same, 0 different") || strings.Contains(got.Out, "alike") {
				t.Errorf("the comparison is not shown as it should be:\n%s", got.Out)
			}
		})
	}
	help := terminaltest.New(t, Commands).Run(false, "versions", "update", "--help").Out
	assert.Truef(t, strings.Contains(help, "--compare") && !strings.Contains(help, "rehears"), "help:\n%s", help)
}
