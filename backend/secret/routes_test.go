package secret

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/require"
)

func TestSecretValuesAreNeverReturned(t *testing.T) {
	store := For(t.TempDir(), noKeyringVariable)
	s := webtest.New(&Feature{Store: store, Config: func() *config.Config { return &config.Config{} }})
	const canary = "canary-77aa01"
	if status, body := s.Ask("PUT", "/api/v1/secrets/github.TOKEN", `{"value":"`+canary+`\n"}`); status/100 != 2 {
		t.Fatalf("stored: %d %s", status, body)
	}
	got, err := store.Get(t.Context(), "github.TOKEN")
	require.Truef(t, err == nil && got == canary, "kept %q (%v)", got, err)
	status, body := s.Ask("GET", "/api/v1/secrets", "")
	var list Secrets
	err = json.Unmarshal([]byte(body), &list)
	require.Truef(t, err == nil && status == http.StatusOK, "%v %v", status, err)
	if strings.Contains(body, canary) || len(list.Items) != 1 || list.Items[0].Name != "github.TOKEN" || list.Home != "file" || list.Notice == "" {
		t.Fatalf("%s", body)
	}
	for _, wrong := range []string{"a%20b", "a%7D"} {
		if status, body := s.Ask("PUT", "/api/v1/secrets/"+wrong, `{"value":"`+canary+`"}`); status != http.StatusBadRequest || strings.Contains(body, canary) {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
	if status, _ := s.Ask("DELETE", "/api/v1/secrets/github.TOKEN", ""); status/100 != 2 {
		t.Fatalf("removed: %d", status)
	}
	s.Want(t, "DELETE", "/api/v1/secrets/github.TOKEN", "", http.StatusNotFound, "")
}

// servers notes what is restarted.
type servers struct{ restarted []string }

func (s *servers) Status(id string) (core.ServerStatus, bool) {
	state, ok := map[string]core.State{"files": core.StateFailed, "off": core.StateDisabled}[id]
	return core.ServerStatus{ID: id, State: state}, ok
}

func (s *servers) Restart(_ context.Context, id string) error {
	s.restarted = append(s.restarted, id)
	return nil
}

func TestStoredSecretRestartsItsServers(t *testing.T) {
	c, _ := config.Parse("c.json", []byte(`{"mcpServers":{"files":{"command":"x","env":{"T":"${secret:T}"}},"off":{"command":"x","env":{"T":"${secret:T}"}},"other":{"command":"x"}}}`))
	s := &servers{}
	site := webtest.New(&Feature{Store: For(t.TempDir(), noKeyringVariable), Config: func() *config.Config { return c }, Servers: s})
	site.Want(t, "PUT", "/api/v1/secrets/T", `{"value":"v"}`, http.StatusNoContent, "")
	require.Equal(t, []string{"files"}, s.restarted)
}

// noKeyringVariable turns the keyring off.
func noKeyringVariable(string) string { return "off" }
