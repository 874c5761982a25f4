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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	err := json.Unmarshal([]byte(text), &plan)
	require.Truef(t, err == nil && status == http.StatusOK, "%v %v", status, text)
	require.Truef(t, !strings.Contains(text, canary) && plan.Command[0] == "npx" && len(plan.Secrets) == 1 && !plan.Done, "%s", text)
	for _, shown := range []string{"", strings.Replace(plan.Entry, "npx", "sh", 1)} {
		s.Want(t, "POST", "/api/v1/directory/install", body(shown), http.StatusConflict)
	}
	_, err = s.feature.Secrets.Get(t.Context(), plan.Secrets[0])
	assert.Error(t, err, "a secret of an installation that was refused is kept")
	if status, text := s.Ask("POST", "/api/v1/directory/install", body(plan.Entry)); status != http.StatusOK || strings.Contains(text, canary) {
		t.Fatalf("%d %s", status, text)
	}
	got, err := s.feature.Secrets.Get(t.Context(), plan.Secrets[0])
	assert.Truef(t, err == nil && got == canary, "kept %q: %v", got, err)
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
		require.NoError(t, err)
		io.WriteString(w, body)
	}
	require.NoError(t, z.Close())
	send := func(src []byte) string {
		t.Helper()
		status, text := s.Ask("POST", "/api/v1/directory/uploads", fmt.Sprintf(`{"size":%d}`, len(src)))
		var up Upload
		err := json.Unmarshal([]byte(text), &up)
		require.Truef(t, err == nil && status == http.StatusOK, "%v %v", status, text)
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
	require.Truef(t, status == http.StatusOK && len(ready.Command) == 3 && ready.Command[2] == "/tmp/notes", "%d %s", status, text)
	_, err := os.Stat(ready.Bundle.Folder)
	assert.Error(t, err, "it was unpacked before anybody agreed")
	body, _ := json.Marshal(map[string]any{"upload": id, "values": map[string]string{"dir": "/tmp/notes"}, "entry": ready.Entry})
	s.Want(t, "POST", "/api/v1/directory/install", string(body), http.StatusOK, `"id":"hello"`)
	src, err := os.ReadFile(filepath.Join(ready.Bundle.Folder, "x.js"))
	assert.Truef(t, err == nil && string(src) == "run()", "%q %v", src, err)
	left, _ := filepath.Glob(filepath.Join(s.feature.Uploads.Folder, ".*"))
	assert.Truef(t, len(left) <= 0, "left behind: %v", left)
	hostile := send([]byte("MZ this is not an archive"))
	if _, status, text := plan(`{"upload":"` + hostile + `"}`); status != http.StatusBadRequest || !strings.Contains(text, "not a zip") {
		t.Errorf("%d %s", status, text)
	}
	if status, _ := s.Ask("DELETE", "/api/v1/directory/uploads/"+hostile, ""); status/100 != 2 {
		t.Errorf("not forgotten: %d", status)
	}
	s.Want(t, "POST", "/api/v1/directory/uploads", `{"size":300000000}`, http.StatusBadRequest)
}
