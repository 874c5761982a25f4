package api

import (
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

func TestDebugMasksSecretsInCommand(t *testing.T) {
	s := newSite(t)
	s.statuses = []core.ServerStatus{{ID: "files", State: core.StateRunning}}
	const key = "sk-proj-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4"
	s.api.Debug = func(id string) (supervisor.Debug, error) {
		st, _ := s.fakes.Status(id)
		return supervisor.Debug{Status: st, Configured: "npx files --api-key " + key, Frames: []upstream.Frame{{Text: `{"api_key":"` + key + `"}`}}}, nil
	}
	s.api.Redact = s.recorder.Redact
	status, body, _ := s.ask(t, "GET", "/api/v1/servers/files/debug", "")
	if status != 200 || strings.Contains(body, key) || !strings.Contains(body, "npx files --api-key ") {
		t.Errorf("%d %s", status, body)
	}
}
