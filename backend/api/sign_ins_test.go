package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
)

func TestSecretValuesAreNeverReturned(t *testing.T) {
	s := newSite(t)
	s.api.Secrets = secret.For(t.TempDir(), func(string) string { return "off" })
	const canary = "canary-77aa01"
	if status, body, _ := s.ask(t, "PUT", "/api/v1/secrets/github.TOKEN", `{"value":"`+canary+`\n"}`); status/100 != 2 {
		t.Fatalf("stored: %d %s", status, body)
	}
	if got, err := s.api.Secrets.Get(t.Context(), "github.TOKEN"); err != nil || got != canary {
		t.Fatalf("kept %q (%v)", got, err)
	}
	status, body, _ := s.ask(t, "GET", "/api/v1/secrets", "")
	var list Secrets
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK {
		t.Fatal(status, err)
	}
	if strings.Contains(body, canary) || len(list.Items) != 1 || list.Items[0].Name != "github.TOKEN" || list.Home != "file" || list.Notice == "" {
		t.Fatalf("%s", body)
	}
	for _, wrong := range []string{"a%20b", "a%7D"} {
		if status, body, _ := s.ask(t, "PUT", "/api/v1/secrets/"+wrong, `{"value":"`+canary+`"}`); status != http.StatusBadRequest || strings.Contains(body, canary) {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
	if status, _, _ := s.ask(t, "DELETE", "/api/v1/secrets/github.TOKEN", ""); status/100 != 2 {
		t.Fatalf("removed: %d", status)
	}
	s.want(t, "DELETE", "/api/v1/secrets/github.TOKEN", "", http.StatusNotFound)
}

func TestStoredSecretRestartsItsServers(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateFailed}, {ID: "off", State: core.StateDisabled}}
	s.api.restartServers(t.Context(), []string{"files", "off", "nobody"})
	if !slices.Contains(s.did, "restart files") || len(s.did) != 1 {
		t.Fatalf("did %v", s.did)
	}
}
