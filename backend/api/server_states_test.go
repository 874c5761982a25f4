package api

import (
	"context"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The statuses that the supervisor's test recorded for each state pass through unchanged, and
// /healthz names those that need attention. A pause is one reason, whatever the number of servers.
func TestEachStateHasItsReason(t *testing.T) {
	src, err := os.ReadFile("../../frontend/src/testdata/server-states.json")
	require.NoError(t, err)
	var states []struct {
		Title  string
		Word   string
		Status json.RawMessage
	}
	err = json.Unmarshal(src, &states)
	require.Truef(t, err == nil && len(states) >= 10, "%v %v", len(states), err)
	s := newSite(t)
	for _, one := range states {
		var st core.ServerStatus
		require.NoError(t, json.Unmarshal(one.Status, &st))
		s.mu.Lock()
		s.statuses = []core.ServerStatus{st}
		s.mu.Unlock()
		var want any
		require.NoError(t, json.Unmarshal(one.Status, &want))
		var list struct{ Items []any }
		var status struct{ Servers []any }
		s.get(t, "/api/v1/servers", &list)
		s.get(t, "/api/v1/status", &status)
		if len(list.Items) != 1 || !reflect.DeepEqual(list.Items[0], want) || !reflect.DeepEqual(status.Servers, list.Items) {
			t.Errorf("%s: got %v, want %v", one.Title, list.Items, want)
		}
		detail := map[string]any{}
		s.get(t, "/api/v1/servers/"+st.ID, &detail)
		assert.Truef(t, detail["state"] == string(st.State) && detail["reason"] == st.Reason, "%s: alone it is %v", one.Title, detail)
		assert.Equal(t, st.State.Word(), one.Word, "the word")
		wantHealth := Health{Status: "degraded", Version: "1.2.3", Reasons: []HealthReason{{Server: st.ID, State: string(st.State), Reason: st.Reason}}}
		switch st.State {
		case core.StateRunning, core.StateStarting, core.StateStopped, core.StatePaused, core.StateDisabled:
			wantHealth.Status, wantHealth.Reasons = "ok", []HealthReason{}
		}
		var health Health
		s.get(t, "/healthz", &health)
		assert.Equal(t, wantHealth, health, one.Title)
	}
}

// A page that is reloaded while the daemon restarts must not show the first run of a new user.
func TestRequestsWaitForTheFirstConfiguration(t *testing.T) {
	s := newSite(t)
	s.api.Started = func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.statuses = []core.ServerStatus{{ID: "files"}}
		return nil
	}
	var list struct{ Items []core.ServerStatus }
	s.get(t, "/api/v1/servers", &list)
	require.Len(t, list.Items, 1)
	assert.Equal(t, "files", list.Items[0].ID)
}
