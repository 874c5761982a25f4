//go:build e2e

package e2e

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // to break a history on purpose

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// The code internal is for faults of our own. Here another program deletes a table of the history
// while the daemon runs: our own tool that reads it fails, a client with the official SDK gets the
// code without details, the log has the details, the API responds with 500, and the call is
// recorded with its error. Other servers are not affected.
func TestPanicIsInternalErrorForClientAndRecord(t *testing.T) {
	t.Parallel()
	d := start(t, object{"bridge": object{"selfTools": true}, "mcpServers": object{"demo": demo()}})
	d.running("demo")
	token := d.token("policy")
	search := toolCall{Name: "drawbridge__history_search", Arguments: object{}}
	found := drive(t, "legacy", d.url+"/mcp", token, "e2e-internal", search)
	require.Truef(t, len(found.Results) == 1 && !found.Results[0].IsError && found.Results[0].Thrown == "", "before: %+v", found.Results)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(d.data, "history.db")+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.Exec(`ALTER TABLE verdict RENAME TO taken_away`)
	require.NoError(t, err)
	got := drive(t, "legacy", d.url+"/mcp", token, "e2e-internal", search, toolCall{Name: "demo__echo", Arguments: object{"text": "well"}})
	code, problem := d.do("GET", "/api/v1/calls", nil)
	_, err = db.Exec(`ALTER TABLE taken_away RENAME TO verdict`)
	require.NoError(t, err)

	if r := got.Results[0]; r.Thrown != "" || !r.IsError || len(r.Content) != 1 || strings.Contains(r.Content[0].Text, "verdict") ||
		!strings.Contains(r.Content[0].Text, `the built-in tool "history_search" failed`) || !strings.Contains(r.Content[0].Text, "(code=internal)") {
		t.Errorf("the client got %+v", r)
	}
	r := got.Results[1]
	assert.Truef(t, !r.IsError && r.Thrown == "", "another server's tool answers %+v", r)
	if code != 500 || !strings.Contains(problem, `"code":"internal"`) || strings.Contains(problem, "verdict") {
		t.Errorf("the API answers %d %s", code, problem)
	}
	eventually.Complete(t, limit(5*time.Second), func() string {
		var list struct {
			Items []struct{ PublicName, Outcome, Code, Reason string }
		}
		d.get("/api/v1/calls", &list)
		for _, c := range list.Items {
			if c.PublicName == search.Name && c.Code == "internal" && c.Outcome == "protocol_error" && strings.Contains(c.Reason, `built-in tool "history_search" failed`) {
				return ""
			}
		}
		return fmt.Sprintf("no call is recorded as internal: %+v", list.Items)
	})
	if log := d.log.String(); !strings.Contains(log, "Internal error during a call") || !strings.Contains(log, "no such table: verdict") {
		t.Error("the log does not say what went wrong")
	}
	again := drive(t, "legacy", d.url+"/mcp", token, "e2e-internal", search)
	assert.Truef(t, len(again.Results) == 1 && !again.Results[0].IsError && again.Results[0].Thrown == "", "after: %+v", again.Results)
}
