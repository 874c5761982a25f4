package profiles

import (
	"maps"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestToolsOfTwoDaysAreUsed(t *testing.T) {
	s := suggestionSite(t)
	id := int64(0)
	for name, days := range map[string][]int{"daily": {0, 1, 3}, "once": {0, 0, 0}, "long ago": {40, 41}} {
		for _, ago := range days {
			at := time.Now().AddDate(0, 0, -ago)
			id = max(id+1, at.UnixMicro())
			s.recorder.Record(&core.Call{ID: id, At: at.UTC(), Client: core.Client{Token: "cursor"}, Server: "files", Method: "tools/call", Name: name, Outcome: core.OutcomeOK, Attempts: 1}, core.Reply{Result: []byte(`{"content":[]}`)})
		}
	}
	f := &s.feature
	if f.Used("cursor") != nil {
		t.Error("known before the history was read")
	}
	must(t, f.readUsed(t.Context()))
	if got := f.Used("cursor"); got == nil || !maps.Equal(*got, bridge.UsedTools{{"files", "daily"}: 3}) || f.Used("other") != nil {
		t.Errorf("used: %v", got)
	}
}
