package clientconf

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestLinksAndSnippetsContainNoToken(t *testing.T) {
	c, _ := newConnector(t)
	for id, prefix := range map[string]string{"cursor": "cursor://anysphere.cursor-deeplink/mcp/install?", "vscode": "vscode:mcp/install?", "vscode-insiders": "vscode-insiders:mcp/install?", "lm-studio": "lmstudio://add_mcp?", "raycast": "raycast://mcp/install?", "cherry-studio": "cherrystudio://mcp/install?"} {
		h, err := c.ManualSetup(Choice{Client: id})
		if err != nil || !strings.HasPrefix(h.Link, prefix) || strings.ContainsAny(h.Link, " \"{}+") {
			t.Errorf("%s: %q %v", id, h.Link, err)
			continue
		}
		query := strings.TrimPrefix(h.Link, prefix)
		var text string
		switch values, _ := url.ParseQuery(query); {
		case values.Get("config") != "":
			b, err := base64.StdEncoding.DecodeString(values.Get("config"))
			if text = string(b); err != nil || values.Get("name") != "drawbridge" {
				t.Errorf("%s: %v %v", id, values, err)
			}
		case values.Get("servers") != "":
			b, _ := base64.StdEncoding.DecodeString(values.Get("servers"))
			text = string(b)
		default:
			text, _ = url.PathUnescape(query)
		}
		if !json.Valid([]byte(text)) || !strings.Contains(text, "/opt/drawbridge/drawbridge") || !strings.Contains(text, `"--client","`+id+`"`) {
			t.Errorf("%s carries %s", id, text)
		}
		if !strings.Contains(h.Text, "/opt/drawbridge/drawbridge") || len(h.Steps) == 0 {
			t.Errorf("%s: %+v", id, h)
		}
	}
	h, err := c.ManualSetup(Choice{Client: "cursor", HTTP: true, URL: "http://127.0.0.1:1", Token: "dbr_canary"})
	if err != nil || h.Link != "" {
		t.Fatalf("a link with a token: %q %v", h.Link, err)
	}
	if _, err := c.Plan(Choice{Client: "raycast"}); core.CodeOf(err) != core.CodeRejected {
		t.Fatalf("a client without a file: %v", err)
	}
}

func TestBundleManifestStartsShim(t *testing.T) {
	c, _ := newConnector(t)
	c.data = "/srv/ana's data"
	b, err := c.Bundle("claude-desktop", "v1.2.3")
	must(t, err)
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		must(t, err)
		text, _ := io.ReadAll(r)
		_ = r.Close()
		files[f.Name] = string(text)
	}
	var m struct {
		Version string `json:"version"`
		Server  struct {
			Type       string `json:"type"`
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"mcp_config"`
		} `json:"server"`
	}
	must(t, json.Unmarshal([]byte(files["manifest.json"]), &m))
	if m.Server.Type != "binary" || m.Version != "1.2.3" || m.Server.Config.Command != c.program || !slices.Equal(m.Server.Config.Args, []string{"stdio", "--client", "claude-desktop", "--data", "/srv/ana's data"}) {
		t.Fatalf("%s", files["manifest.json"])
	}
	if script := files[m.Server.EntryPoint]; os.PathSeparator == '/' && !strings.Contains(script, `'/srv/ana'\''s data'`) {
		t.Fatalf("the launcher is\n%s", script)
	}
}

func TestClientLimitsAreSentences(t *testing.T) {
	tools := make([]OfferedTool, 130)
	for n := range tools {
		tools[n] = OfferedTool{EntryName, strings.Repeat("x", 40)}
	}
	tools[7].Name = strings.Repeat("y", 50)
	for id, want := range map[string]string{"vscode": "at most 128 tools", "claude-code": strings.Repeat("y", 50), "cursor": "at most 40 tools", "zed": ""} {
		client, err := ByID(id)
		must(t, err)
		got := strings.Join(LimitWarnings(client, tools), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", id, got)
		}
		if strings.Contains(strings.Join(LimitWarnings(client, tools[8:20]), "\n"), "too long") {
			t.Errorf("%s: short names are called too long", id)
		}
	}
}
