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
		s.want(t, "GET", "/api/v1/"+path, "", 200)
	}
	for _, path := range []string{"servers/my%20server/restart", "servers/%4021st-dev%2Fmagic/disable"} {
		s.want(t, "POST", "/api/v1/"+path, "", 200)
	}
	s.want(t, "DELETE", "/api/v1/servers/my%20server", "", http.StatusNoContent)
	if got := strings.Join(s.did, ","); got != "restart my-server,disable 21st-dev-magic,remove my-server" {
		t.Errorf("done: %s", got)
	}
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
	if status, body, _ := s.ask(t, "POST", "/api/v1/call", `{"server":"my server","tool":"echo"}`); status != 200 || to != "my-server" {
		t.Errorf("%d %s, called %q", status, body, to)
	}
}
