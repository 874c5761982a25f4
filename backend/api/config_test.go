package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConfigBackupIsShownAndRestored(t *testing.T) {
	s := newSite(t)
	s.api.Copies = config.BackupsOf(t.TempDir())
	s.fakes.text = "{\n  // mine\n  \"mcpServers\": {\n    \"mine\": {\"command\": \"mine\"}\n  }\n}\n"
	before := s.fakes.text
	status, said, _ := s.ask(t, "POST", "/api/v1/config/backups", "")
	var kept ConfigBackup
	err := json.Unmarshal([]byte(said), &kept)
	require.Truef(t, err == nil && status == http.StatusOK && kept.Current, "%v %v", status, said)
	s.fakes.text = "[\"broken\", \"token\": \"cnry-3\"]"
	status, said, _ = s.ask(t, "GET", "/api/v1/config/backups/"+kept.Name, "")
	var text ConfigBackupText
	if err := json.Unmarshal([]byte(said), &text); err != nil || status != http.StatusOK || text.Diff == "" || len(text.Problems) > 0 || strings.Contains(said, "cnry") {
		t.Fatal(status, said)
	}
	s.want(t, "POST", "/api/v1/config/backups/"+kept.Name+"/restore", `{"etag":"another"}`, http.StatusConflict)
	status, said, _ = s.ask(t, "POST", "/api/v1/config/backups/"+kept.Name+"/restore", `{"etag":"`+text.Etag+`"}`)
	require.Equal(t, http.StatusOK, status, said)
	require.Equal(t, before, s.fakes.text, said)
	status, said, _ = s.ask(t, "GET", "/api/v1/config/backups", "")
	var list web.List[ConfigBackup]
	err = json.Unmarshal([]byte(said), &list)
	assert.Truef(t, err == nil && status == http.StatusOK && len(list.Items) >= 2, "%d %s", status, said)
	for _, name := range []string{"..%2Fadmin.token", "config-20261122-070000.000.jsonc", "x"} {
		s.want(t, "GET", "/api/v1/config/backups/"+name, "", http.StatusNotFound)
	}
}

func TestServerIsFoundByNameAndID(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "my-server", Label: "my server", State: core.StateRunning}, {ID: "21st-dev-magic", Label: "@21st-dev/magic"}}
	for _, path := range []string{"servers/my%20server", "servers/my-server", "servers/MY%20server", "servers/my%20server/log"} {
		s.want(t, "GET", "/api/v1/"+path, "", 200)
	}
	for _, path := range []string{"servers/my%20server/restart", "servers/%4021st-dev%2Fmagic/disable"} {
		s.want(t, "POST", "/api/v1/"+path, "", 200)
	}
	s.want(t, "DELETE", "/api/v1/servers/my%20server", "", http.StatusNoContent)
	assert.Equal(t, "restart my-server,disable 21st-dev-magic,remove my-server", strings.Join(s.did, ","))
	s.want(t, "GET", "/api/v1/servers/other", "", 404, "there is no such server")
}

func TestCallAcceptsServerName(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "my-server", Label: "my server", State: core.StateRunning}}
	var to string
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		to = c.Server
		return core.Reply{Result: []byte(`{"content":[]}`)}, nil
	}
	status, body, _ := s.ask(t, "POST", "/api/v1/call", `{"server":"my server","tool":"echo"}`)
	assert.Truef(t, status == 200 && to == "my-server", "%d %s, called %q", status, body, to)
}

func TestPatchedConfigNeedsCurrentETagAndADryRunWritesNothing(t *testing.T) {
	s := newSite(t)
	s.fakes.text = "{}"
	for _, c := range []struct {
		etag, dryRun string
		status       int
		want, text   string
	}{
		{"", "false", http.StatusPreconditionRequired, "If-Match", "{}"},
		{"old", "false", http.StatusPreconditionFailed, "changed in the meantime", "{}"},
		{"*", "false", http.StatusPreconditionFailed, "changed in the meantime", "{}"},
		{"old", "true", http.StatusPreconditionFailed, "changed in the meantime", "{}"},
		{"*", "true", http.StatusOK, `"text":"[1]","etag":"tag-{","problems":[{`, "{}"},
		{"tag-{", "true", http.StatusOK, `"text":"[1]"`, "{}"},
		{"tag-{", "false", http.StatusOK, `"text":"[1]","etag":"tag-["`, "[1]"},
	} {
		status, body, _ := s.ask(t, "PATCH", "/api/v1/config", `{"edits":[{"op":"add","path":"","text":"[1]"}],"dryRun":`+c.dryRun+`}`, "If-Match", `"`+c.etag+`"`)
		if status != c.status || !strings.Contains(body, c.want) || s.fakes.text != c.text {
			t.Errorf("%q %s: %d %s, the file is %s", c.etag, c.dryRun, status, body, s.fakes.text)
		}
	}
}
