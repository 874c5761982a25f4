package api

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/doctor"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
	"github.com/drawbridge-mcp/drawbridge/config"
)

func save(t *testing.T, path, text string) {
	t.Helper()
	must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)))
}

func load(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}

// do sends a POST request and checks the status.
func (s *site) do(t *testing.T, path, body string, want int) string {
	t.Helper()
	status, got, _ := s.ask(t, "POST", path, body)
	if status != want {
		t.Fatalf("POST %s: %d %s, want %d", path, status, got, want)
	}
	return got
}

func TestDoctorAppliesOfferedFixes(t *testing.T) {
	s := newSite(t)
	s.api.Doctor = func(context.Context) (doctor.Options, error) {
		return doctor.Options{Config: config.Default(), Getenv: func(string) string { return "" }, Listening: func(string) bool { return true },
			LookPath: func(string) (string, error) { return "/bin/x", nil }}, nil
	}
	path := filepath.Join(s.home, ".cursor/mcp.json")
	save(t, path, "{\"mcpServers\": {}}\n")
	s.do(t, "/api/v1/connections/cursor/connect", `{}`, 200)
	whole := load(t, path)
	save(t, path, "{}\n")
	finding := func() doctor.Finding {
		t.Helper()
		var list web.List[doctor.Finding]
		s.get(t, "/api/v1/doctor", &list)
		for _, f := range list.Items {
			if f.ID == "client-cursor" {
				return f
			}
		}
		t.Fatalf("%+v", list.Items)
		return doctor.Finding{}
	}
	if f := finding(); f.Level != doctor.Problem || f.Action == "" {
		t.Fatalf("%+v", f)
	}
	s.do(t, "/api/v1/doctor/client-cursor", "", 200)
	if load(t, path) != whole {
		t.Fatal(load(t, path))
	}
	s.do(t, "/api/v1/doctor/nothing", "", 404)
	s.do(t, "/api/v1/doctor/client-cursor", "", 403) // no problem to fix
}
