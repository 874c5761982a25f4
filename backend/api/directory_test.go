package api

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"drawbridge/backend/directory"
	"drawbridge/backend/secret"
)

// An installation writes what its plan has shown, and nothing else; its secrets go to
// the store and never come back.
func TestAnInstallationWritesOnlyWhatWasShown(t *testing.T) {
	s := newSite(t)
	s.api.Directory = directory.Open(filepath.Join(t.TempDir(), "directory.json"))
	s.api.Secrets = secret.For(t.TempDir(), func(string) string { return "off" })
	const canary = "canary-55bb02"
	body := func(entry string) string {
		raw, _ := json.Marshal(map[string]any{"name": "io.github.brave/brave-search-mcp-server", "values": map[string]string{"env.BRAVE_API_KEY": canary}, "entry": entry})
		return string(raw)
	}
	status, text, _ := s.ask(t, "POST", "/api/v1/directory/plan", body(""))
	var plan Installation
	if err := json.Unmarshal([]byte(text), &plan); err != nil || status != http.StatusOK {
		t.Fatal(status, text)
	}
	if strings.Contains(text, canary) || plan.Command[0] != "npx" || len(plan.Secrets) != 1 || plan.Done {
		t.Fatalf("%s", text)
	}
	for _, shown := range []string{"", strings.Replace(plan.Entry, "npx", "sh", 1)} {
		if status, text, _ := s.ask(t, "POST", "/api/v1/directory/install", body(shown)); status != http.StatusConflict {
			t.Errorf("installed what was not shown: %d %s", status, text)
		}
	}
	if _, err := s.api.Secrets.Get(t.Context(), plan.Secrets[0]); err == nil {
		t.Error("a secret of an installation that was refused is kept")
	}
	if status, text, _ := s.ask(t, "POST", "/api/v1/directory/install", body(plan.Entry)); status != http.StatusOK || strings.Contains(text, canary) {
		t.Fatalf("%d %s", status, text)
	}
	if got, err := s.api.Secrets.Get(t.Context(), plan.Secrets[0]); err != nil || got != canary {
		t.Errorf("kept %q: %v", got, err)
	}
	for _, wrong := range []string{`{"name":"nobody/knows"}`, `{"bundle":"/etc"}`, `{"bundle":"/nowhere.mcpb"}`, `{"name":"io.github.brave/brave-search-mcp-server"}`} {
		if status, text, _ := s.ask(t, "POST", "/api/v1/directory/plan", wrong); status/100 != 4 {
			t.Errorf("%s: %d %s", wrong, status, text)
		}
	}
}
