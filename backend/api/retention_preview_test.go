package api

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/history"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReducedRetentionReportsDeletedCalls uses three calls that are ten days old and one of
// today.
func TestReducedRetentionReportsDeletedCalls(t *testing.T) {
	s := newSite(t)
	for i := range 4 {
		at := time.Now().Add(time.Duration(i) * time.Millisecond)
		if i < 3 {
			at = at.AddDate(0, 0, -10)
		}
		s.recorder.Record(&core.Call{ID: at.UnixMicro(), At: at, Server: "files", Method: "tools/call", Name: "echo", Outcome: core.OutcomeOK}, core.Reply{Result: []byte(`{}`)})
	}
	s.recorder.Flush(t.Context())
	for _, c := range []struct {
		was, text string
		calls     int64
		about     bool
	}{
		{`{}`, `{"history":{"keepDays":7}}`, 3, false},
		{`{}`, `{"history":{"keepDays":9}}`, 3, false},
		{`{}`, `{"history":{"keepDays":11}}`, 0, false},
		{`{}`, `{"history":{"keepDays":0}}`, 0, false},
		{`{}`, `{"history":{"maxBytes":1}}`, 3, true},
		{`{"history":{"keepDays":7}}`, `{"history":{"keepDays":7},"mcpServers":{}}`, 0, false}, // unchanged
		{`{"history":{"keepDays":7}}`, `{"history":{"keepDays":9}}`, 0, false},                 // longer retention
		{`{"history":{"keepDays":0}}`, `{"history":{"keepDays":9}}`, 3, false},                 // 0 means unlimited
		{`{"history":{"keepDays":365,"maxBytes":0}}`, `{}`, 0, false},                          // the default is 30 days
		{`{"history":{"keepDays":`, `{"history":{"keepDays":9}}`, 3, false},                    // the current file cannot be parsed
		{`{}`, `{"history":{"keepDays":"soon"}}`, 0, false},                                    // rejected anyway
		{`{}`, `{"history":`, 0, false},
	} {
		s.text = c.was
		status, body, _ := s.ask(t, "POST", "/api/v1/config/retention-preview", `{"text":`+strconv.Quote(c.text)+`}`)
		want := `"calls":` + strconv.FormatInt(c.calls, 10) + `,`
		if status != 200 || !strings.Contains(body, want) || strings.Contains(body, `"estimated":true`) != c.about {
			t.Errorf("from %s to %s: %d %s, want %s", c.was, c.text, status, body, want)
		}
		assert.Falsef(t, c.calls > 0 && !strings.Contains(body, `"total":4`), "from %s to %s: %s does not say of how many", c.was, c.text, body)
	}

	// The same applies to a copy that is restored.
	s.text = `{}`
	s.api.Copies = config.BackupsOf(filepath.Join(t.TempDir()))
	name, err := s.api.Copies.Create("/home/me/config.jsonc", []byte(`{"history":{"keepDays":7}}`), time.Now())
	require.NoError(t, err)
	s.want(t, "POST", "/api/v1/config/retention-preview", `{"copy":"`+name+`"}`, 200, `"calls":3,`)
	s.want(t, "POST", "/api/v1/config/retention-preview", `{"copy":"none.jsonc"}`, http.StatusNotFound)
	var state history.HistoryState
	s.get(t, "/api/v1/history", &state)
	assert.EqualValues(t, 4, state.Calls)
}
