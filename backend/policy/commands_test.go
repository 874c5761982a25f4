package policy

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/terminal/terminaltest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWaitForServersHasExitCode(t *testing.T) {
	f := terminaltest.New(t, Commands)
	var looks atomic.Int32
	f.Mux.HandleFunc("GET /api/v1/servers", func(w http.ResponseWriter, _ *http.Request) {
		state := "starting"
		if looks.Add(1) > 2 {
			state = "running"
		}
		io.WriteString(w, `{"items":[{"id":"my-files","label":"my files","state":"`+state+`","tools":2},{"id":"off","label":"off","state":"disabled"}]}`)
	})
	f.Answer("GET /api/v1/tools", `{"items":[{"server":"my-files","tool":"read"},{"server":"my-files","tool":"rm"}]}`)
	f.Mux.HandleFunc("GET /api/v1/explain", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"passes":`+map[bool]string{true: "true", false: "false"}[r.URL.Query().Get("tool") == "read"]+`,"rule":"{\"then\": \"deny\"}","checks":[{"name":"rules","result":"refuse","detail":"A rule denies the call.","key":"policy.rules[1]"}]}`)
	})
	if got := f.Run(false, "explain", "--all"); got.Code != 1 || !strings.Contains(got.Out, "my files (my-files)  no") {
		t.Errorf("%+v", got)
	}
	assert.Contains(t, f.Run(false, "explain", "my files", "rm").Out, `A rule denies the call. (policy.rules[1]) {"then": "deny"}`)
	got := f.Run(false, "explain", "--all", "--wait", "--json")
	want := `{"items":[{"server":"my-files","label":"my files","state":"running","ready":true,"reason":"","tools":2,"refused":["rm"]},{"server":"off","label":"off","state":"disabled","ready":false,"reason":"","tools":0,"refused":[]}],"next":"","ready":true}` + "\n"
	assert.Truef(t, got.Code == 0 && got.Out == want, "%+v", got)
	for _, args := range [][]string{{"explain"}, {"explain", "x"}, {"explain", "--all", "x", "y"}, {"explain", "x", "y", "--wait"}, {"explain", "x", "y", "--arguments", "{"}, {"explain", "x", "y", "--arguments", "[1]"}} {
		assert.Equal(t, 2, f.Run(false, args...).Code, args)
	}
}

func TestTooLargeRulesAreRefused(t *testing.T) {
	f := terminaltest.New(t, Commands)
	path := filepath.Join(t.TempDir(), "rules.jsonc")
	require.NoError(t, os.WriteFile(path, []byte("[]"+strings.Repeat(" ", maxRules)), 0o600))
	got := f.Run(true, "policy", "try", path)
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Err, "larger than 1 MiB"), "%+v", got)
}
