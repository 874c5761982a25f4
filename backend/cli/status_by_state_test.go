package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/terminal"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// states returns the statuses that the supervisor's test recorded for each state.
func states(t *testing.T) (list []struct {
	Title  string
	Word   string
	Status core.ServerStatus
}) {
	t.Helper()
	src, err := os.ReadFile("../../frontend/src/testdata/server-states.json")
	if err == nil {
		err = json.Unmarshal(src, &list)
	}
	require.Truef(t, err == nil && len(list) >= 10, "%v %v", len(list), err)
	return list
}

func TestStatusShowsStateAndReason(t *testing.T) {
	f := newFakeDaemon(t)
	current := ""
	f.Mux.HandleFunc("GET /api/v1/status", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, current) })
	src, err := os.ReadFile("../../docs/servers.md")
	require.NoError(t, err)
	glossary := string(src)
	var text strings.Builder
	for _, one := range states(t) {
		doc, err := json.Marshal(map[string]any{"url": "http://127.0.0.1:7575", "requireToken": true, "servers": []core.ServerStatus{one.Status}})
		require.NoError(t, err)
		current = string(doc)
		got := f.Run(false, "status", "--json")
		var shown struct{ Servers []core.ServerStatus }
		if err := json.Unmarshal([]byte(got.Out), &shown); err != nil || len(shown.Servers) != 1 ||
			shown.Servers[0].State != one.Status.State || shown.Servers[0].Reason != one.Status.Reason {
			t.Errorf("%s, as JSON: %v %+v", one.Title, err, got)
		}
		var s api.Status
		require.NoError(t, json.Unmarshal(doc, &s))
		var out strings.Builder
		p := program{Options: Options{Env: terminal.Env{Stdout: &out, Terminal: func() bool { return false }}}}
		require.NoError(t, p.printStatus(&s, nil, one.Status.Since.Add(90*time.Second)))
		if one.Status.Reason != "" && !strings.Contains(out.String(), one.Status.Reason) {
			t.Errorf("%s: the reason is not shown:\n%s", one.Title, out.String())
		}
		assert.Contains(t, out.String(), "files   "+one.Word+" ", one.Title)
		assert.Contains(t, glossary, "\n| *"+one.Word+"* |", "docs/servers.md has no row")
		text.WriteString("-- " + one.Title + " --\n" + out.String())
	}
	golden(t, "status-of-each-state.txt", text.String())
}
