package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestServerIsFoundByNameAndID(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "my-server", Label: "my server", State: core.StateRunning}, {ID: "21st-dev-magic", Label: "@21st-dev/magic"}}
	for _, path := range []string{"servers/my%20server", "servers/my-server", "servers/MY%20server", "servers/my%20server/log"} {
		if status, body, _ := s.ask(t, "GET", "/api/v1/"+path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, path := range []string{"servers/my%20server/restart", "servers/%4021st-dev%2Fmagic/disable"} {
		if status, body, _ := s.ask(t, "POST", "/api/v1/"+path, ""); status != 200 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, body, _ := s.ask(t, "DELETE", "/api/v1/servers/my%20server", ""); status != http.StatusNoContent {
		t.Errorf("remove: %d %s", status, body)
	}
	if got := strings.Join(s.did, ","); got != "restart my-server,disable 21st-dev-magic,remove my-server" {
		t.Errorf("done: %s", got)
	}
	if status, body, _ := s.ask(t, "GET", "/api/v1/servers/other", ""); status != 404 || !strings.Contains(body, "there is no such server") {
		t.Errorf("unknown: %d %s", status, body)
	}
}

func TestCallAcceptsServerName(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "my-server", Label: "my server", State: core.StateRunning}}
	var to string
	s.call = func(_ context.Context, c *core.Call) (core.Reply, error) {
		to = c.Server
		return core.Reply{Result: []byte(`{"content":[]}`)}, nil
	}
	if status, body, _ := s.ask(t, "POST", "/api/v1/call", `{"server":"my server","tool":"echo"}`); status != 200 || to != "my-server" {
		t.Errorf("%d %s, called %q", status, body, to)
	}
}
