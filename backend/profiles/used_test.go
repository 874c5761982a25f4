package profiles

import (
	"context"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestToolsOfTwoDaysAreUsed(t *testing.T) {
	history, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	require.NoError(t, err)
	recorder, recorded := history.Recorder(), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { recorded <- recorder.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-recorded; require.NoError(t, history.Close()) })
	id := int64(0)
	for name, days := range map[string][]int{"daily": {0, 1, 3}, "once": {0, 0, 0}, "long ago": {40, 41}} {
		for _, ago := range days {
			at := time.Now().AddDate(0, 0, -ago)
			id = max(id+1, at.UnixMicro())
			recorder.Record(&core.Call{ID: id, At: at.UTC(), Client: core.Client{Token: "cursor"}, Server: "files", Method: "tools/call", Name: name, Outcome: core.OutcomeOK, Attempts: 1}, core.Reply{Result: []byte(`{"content":[]}`)})
		}
	}
	f := &Feature{Store: history}
	assert.Nil(t, f.Used("cursor"), "known before the history was read")
	require.NoError(t, f.readUsed(t.Context()))
	got := f.Used("cursor")
	assert.Truef(t, got != nil && maps.Equal(*got, bridge.UsedTools{{"files", "daily"}: 3}) && f.Used("other") == nil, "used: %v", got)
}
