package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/config"
)

func TestConfigBackupIsShownAndRestored(t *testing.T) {
	s := newSite(t)
	s.api.Copies = config.BackupsOf(t.TempDir())
	s.fakes.text = "{\n  // mine\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"mine\"}\n  }\n}\n"
	before := s.fakes.text
	status, said, _ := s.ask(t, "POST", "/api/v1/config/backups", "")
	var kept ConfigBackup
	if err := json.Unmarshal([]byte(said), &kept); err != nil || status != http.StatusOK || !kept.Current {
		t.Fatal(status, said)
	}
	s.fakes.text = "[\"broken\", \"token\": \"cnry-3\"]"
	status, said, _ = s.ask(t, "GET", "/api/v1/config/backups/"+kept.Name, "")
	var text ConfigBackupText
	if err := json.Unmarshal([]byte(said), &text); err != nil || status != http.StatusOK || text.Diff == "" || len(text.Problems) > 0 || strings.Contains(said, "cnry") {
		t.Fatal(status, said)
	}
	s.want(t, "POST", "/api/v1/config/backups/"+kept.Name+"/restore", `{"etag":"another"}`, http.StatusConflict)
	status, said, _ = s.ask(t, "POST", "/api/v1/config/backups/"+kept.Name+"/restore", `{"etag":"`+text.Etag+`"}`)
	if status != http.StatusOK || s.fakes.text != before {
		t.Fatalf("%d %s", status, said)
	}
	status, said, _ = s.ask(t, "GET", "/api/v1/config/backups", "")
	var list List[ConfigBackup]
	if err := json.Unmarshal([]byte(said), &list); err != nil || status != http.StatusOK || len(list.Items) < 2 {
		t.Errorf("%d %s", status, said)
	}
	for _, name := range []string{"..%2Fadmin.token", "config-20261122-070000.000.jsonc", "x"} {
		s.want(t, "GET", "/api/v1/config/backups/"+name, "", http.StatusNotFound)
	}
}
