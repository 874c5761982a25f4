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
)

func TestToolsOfTwoDaysAreUsed(t *testing.T) {
	history, err := store.Open(t.Context(), store.Options{Path: filepath.Join(t.TempDir(), "history.db")})
	must(t, err)
	recorder, recorded := history.Recorder(), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { recorded <- recorder.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-recorded; must(t, history.Close()) })
	id := int64(0)
	for name, days := range map[string][]int{"daily": {0, 1, 3}, "once": {0, 0, 0}, "long ago": {40, 41}} {
		for _, ago := range days {
			at := time.Now().AddDate(0, 0, -ago)
			id = max(id+1, at.UnixMicro())
			recorder.Record(&core.Call{ID: id, At: at.UTC(), Client: core.Client{Token: "cursor"}, Server: "files", Method: "tools/call", Name: name, Outcome: core.OutcomeOK, Attempts: 1}, core.Reply{Result: []byte(`{"content":[]}`)})
		}
	}
	f := &Feature{Store: history}
	if f.Used("cursor") != nil {
		t.Error("known before the history was read")
	}
	must(t, f.readUsed(t.Context()))
	if got := f.Used("cursor"); got == nil || !maps.Equal(*got, bridge.UsedTools{{"files", "daily"}: 3}) || f.Used("other") != nil {
		t.Errorf("used: %v", got)
	}
}
