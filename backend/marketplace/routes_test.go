package marketplace

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/secret"
	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// fakeHouse is the rest of the program, without servers.
type fakeHouse struct{}

func (fakeHouse) Current() *config.Config                                        { return config.Default() }
func (fakeHouse) Add(context.Context, string, json.RawMessage) error             { return nil }
func (fakeHouse) SetArgument(context.Context, string, int, string, string) error { return nil }
func (fakeHouse) Status(string) (core.ServerStatus, bool)                        { return core.ServerStatus{}, false }
func (fakeHouse) SuppressCommandNotice(string)                                   {}

type site struct {
	*webtest.Site
	feature *Feature
}

func newSite(t *testing.T) *site {
	f := &Feature{Config: fakeHouse{}, Servers: fakeHouse{}, List: NewList(filepath.Join(t.TempDir(), "directory.json")), Secrets: secret.For(t.TempDir(), func(string) string { return "off" }), Uploads: Uploads{Folder: filepath.Join(t.TempDir(), "bundles")}}
	return &site{webtest.New(f), f}
}

// An installation writes exactly what its plan has shown; its secrets go to the secret store and
// are never returned.
func TestInstallWritesOnlyWhatWasPreviewed(t *testing.T) {
	s := newSite(t)
	const canary = "canary-55bb02"
	body := func(entry string) string {
		raw, _ := json.Marshal(map[string]any{"name": "io.github.brave/brave-search-mcp-server", "values": map[string]string{"env.BRAVE_API_KEY": canary}, "entry": entry})
		return string(raw)
	}
	status, text := s.Ask("POST", "/api/v1/directory/plan", body(""))
	var plan Installation
	if err := json.Unmarshal([]byte(text), &plan); err != nil || status != http.StatusOK {
		t.Fatal(status, text)
	}
	if strings.Contains(text, canary) || plan.Command[0] != "npx" || len(plan.Secrets) != 1 || plan.Done {
		t.Fatalf("%s", text)
	}
	for _, shown := range []string{"", strings.Replace(plan.Entry, "npx", "sh", 1)} {
		s.Want(t, "POST", "/api/v1/directory/install", body(shown), http.StatusConflict)
	}
	if _, err := s.feature.Secrets.Get(t.Context(), plan.Secrets[0]); err == nil {
		t.Error("a secret of an installation that was refused is kept")
	}
	if status, text := s.Ask("POST", "/api/v1/directory/install", body(plan.Entry)); status != http.StatusOK || strings.Contains(text, canary) {
		t.Fatalf("%d %s", status, text)
	}
	if got, err := s.feature.Secrets.Get(t.Context(), plan.Secrets[0]); err != nil || got != canary {
		t.Errorf("kept %q: %v", got, err)
	}
	for _, wrong := range []string{`{"name":"nobody/knows"}`, `{"bundle":"/etc"}`, `{"bundle":"/nowhere.mcpb"}`, `{"upload":"none"}`} {
		if status, text := s.Ask("POST", "/api/v1/directory/plan", wrong); status/100 != 4 {
			t.Errorf("%s: %d %s", wrong, status, text)
		}
	}
}

// A browser uploads a bundle in parts. It is described before anything is unpacked, and unpacked
// when the user installs it.
func TestUploadedBundleIsUnpackedOnInstallOnly(t *testing.T) {
	s := newSite(t)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for name, body := range map[string]string{
		"manifest.json": `{"manifest_version":"0.3","name":"hello","version":"1.0.0","author":{"name":"a"},"server":{"type":"node","entry_point":"x.js","mcp_config":{"command":"node","args":["${__dirname}/x.js","${user_config.dir}"]}},"user_config":{"dir":{"type":"directory","title":"Folder","required":true}}}`,
		"x.js":          "run()",
	} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, body)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	send := func(src []byte) string {
		t.Helper()
		status, text := s.Ask("POST", "/api/v1/directory/uploads", fmt.Sprintf(`{"size":%d}`, len(src)))
		var up Upload
		if err := json.Unmarshal([]byte(text), &up); err != nil || status != http.StatusOK {
			t.Fatal(status, text)
		}
		half := len(src) / 2
		for offset, part := range [][]byte{src[:half], src[half:]} {
			raw, _ := json.Marshal(map[string]any{"offset": offset * half, "part": part})
			s.Want(t, "PUT", "/api/v1/directory/uploads/"+up.ID, string(raw), http.StatusOK)
		}
		return up.ID
	}
	id := send(packed.Bytes())
	plan := func(body string) (Installation, int, string) {
		status, text := s.Ask("POST", "/api/v1/directory/plan", body)
		var out Installation
		_ = json.Unmarshal([]byte(text), &out)
		return out, status, text
	}
	first, status, text := plan(`{"upload":"` + id + `"}`)
	if status != http.StatusOK || first.Entry != "" || len(first.Missing) != 1 || first.Missing[0] != "dir" || first.Bundle == nil || first.Bundle.Command[0] != "node" || len(first.Fields) != 1 {
		t.Fatalf("%d %s", status, text)
	}
	ready, status, text := plan(`{"upload":"` + id + `","values":{"dir":"/tmp/notes"}}`)
	if status != http.StatusOK || len(ready.Command) != 3 || ready.Command[2] != "/tmp/notes" {
		t.Fatalf("%d %s", status, text)
	}
	if _, err := os.Stat(ready.Bundle.Folder); err == nil {
		t.Error("it was unpacked before anybody agreed")
	}
	body, _ := json.Marshal(map[string]any{"upload": id, "values": map[string]string{"dir": "/tmp/notes"}, "entry": ready.Entry})
	s.Want(t, "POST", "/api/v1/directory/install", string(body), http.StatusOK, `"id":"hello"`)
	if src, err := os.ReadFile(filepath.Join(ready.Bundle.Folder, "x.js")); err != nil || string(src) != "run()" {
		t.Errorf("%q %v", src, err)
	}
	if left, _ := filepath.Glob(filepath.Join(s.feature.Uploads.Folder, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	hostile := send([]byte("MZ this is not an archive"))
	if _, status, text := plan(`{"upload":"` + hostile + `"}`); status != http.StatusBadRequest || !strings.Contains(text, "not a zip") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := s.Ask("DELETE", "/api/v1/directory/uploads/"+hostile, ""); status/100 != 2 {
		t.Errorf("not forgotten: %d", status)
	}
	s.Want(t, "POST", "/api/v1/directory/uploads", `{"size":300000000}`, http.StatusBadRequest)
}
