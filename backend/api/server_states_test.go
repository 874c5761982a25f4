package api

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// The statuses that the supervisor's test recorded for each state pass through unchanged.
func TestEachStateHasItsReason(t *testing.T) {
	src, err := os.ReadFile("../../frontend/src/testdata/server-states.json")
	must(t, err)
	var states []struct {
		Title  string
		Status json.RawMessage
	}
	if err := json.Unmarshal(src, &states); err != nil || len(states) < 10 {
		t.Fatal(len(states), err)
	}
	s := newSite(t)
	for _, one := range states {
		var st core.ServerStatus
		must(t, json.Unmarshal(one.Status, &st))
		s.mu.Lock()
		s.statuses = []core.ServerStatus{st}
		s.mu.Unlock()
		var want any
		must(t, json.Unmarshal(one.Status, &want))
		var list struct{ Items []any }
		var status struct{ Servers []any }
		s.get(t, "/api/v1/servers", &list)
		s.get(t, "/api/v1/status", &status)
		if len(list.Items) != 1 || !reflect.DeepEqual(list.Items[0], want) || !reflect.DeepEqual(status.Servers, list.Items) {
			t.Errorf("%s: got %v, want %v", one.Title, list.Items, want)
		}
		detail := map[string]any{}
		s.get(t, "/api/v1/servers/"+st.ID, &detail)
		if detail["state"] != string(st.State) || detail["reason"] != st.Reason {
			t.Errorf("%s: alone it is %v", one.Title, detail)
		}
	}
}
