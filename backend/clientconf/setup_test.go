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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
		assert.Contains(t, h.Text, "/opt/drawbridge/drawbridge", id)
		assert.NotEmpty(t, h.Steps, id)
	}
	h, err := c.ManualSetup(Choice{Client: "cursor", HTTP: true, URL: "http://127.0.0.1:1", Token: "dbr_canary"})
	require.NoError(t, err, "a link with a token")
	require.Empty(t, h.Link, "a link with a token")
	_, err = c.Plan(Choice{Client: "raycast"})
	require.Equal(t, core.CodeRejected, core.CodeOf(err), "a client without a file")
}

func TestBundleManifestStartsShim(t *testing.T) {
	c, _ := newConnector(t)
	c.data = "/srv/ana's data"
	b, err := c.Bundle("claude-desktop", "v1.2.3")
	require.NoError(t, err)
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
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
	require.NoError(t, json.Unmarshal([]byte(files["manifest.json"]), &m))
	if m.Server.Type != "binary" || m.Version != "1.2.3" || m.Server.Config.Command != c.program || !slices.Equal(m.Server.Config.Args, []string{"stdio", "--client", "claude-desktop", "--data", "/srv/ana's data"}) {
		t.Fatalf("%s", files["manifest.json"])
	}
	script := files[m.Server.EntryPoint]
	require.Falsef(t, os.PathSeparator == '/' && !strings.Contains(script, `'/srv/ana'\''s data'`), "the launcher is\n%s", script)
}

func TestClientLimitsAreSentences(t *testing.T) {
	tools := make([]OfferedTool, 130)
	for n := range tools {
		tools[n] = OfferedTool{Entry: EntryName, Name: strings.Repeat("x", 40)}
	}
	tools[7].Name = strings.Repeat("y", 50)
	for id, want := range map[string]string{"vscode": "at most 128 tools", "claude-code": strings.Repeat("y", 50), "cursor": "at most 40 tools", "zed": ""} {
		client, err := ByID(id)
		require.NoError(t, err)
		got := strings.Join(LimitWarnings(client, tools, 0), "\n")
		assert.Truef(t, !(want == "" && got != "") && strings.Contains(got, want), "%s: %q", id, got)
		assert.NotContainsf(t, strings.Join(LimitWarnings(client, tools[8:20], 0), "\n"), "too long", "%s: short names are called too long", id)
	}
}

// Each file is given with MARK where the instruction tells the user to add the text. The result must
// be valid in the language of the file and contain the entry.
func TestSnippetIsValidWhereItIsToBeAdded(t *testing.T) {
	const (
		braces   = ", between the braces of %s and separated by a comma"
		brackets = ", between the brackets of %s and separated by a comma"
	)
	for _, c := range []struct{ client, file, place, sample string }{
		{"goose", "MARK", "", "extensions:\n  drawbridge:\n    type: \"stdio\"\n"},
		{"goose", "GOOSE_MODE: auto\nMARK", "", "extensions:\n  drawbridge:\n"},
		{"goose", "extensions:\n    a:\n        type: builtin\nMARK", `, under "extensions"`, "    drawbridge:\n"},
		{"goose", "GOOSE_MODE: auto\nMARK", "", ""},
		{"goose", "extensions: {a: {type: builtin}, MARK}\n", strings.ReplaceAll(braces, "%s", `"extensions"`), `"drawbridge": {"type": "stdio"`},
		{"goose", "{extensions: {a: {type: builtin}, MARK}}\n", strings.ReplaceAll(braces, "%s", `"extensions"`), ""},
		{"goose", "{GOOSE_MODE: auto, MARK}\n", strings.ReplaceAll(braces, "%s", "the file"), `"extensions": {"drawbridge": {`},
		{"hermes", "mcp_servers:\n  a:\n    command: x\nMARK", `, under "mcp_servers"`, "  drawbridge:\n"},
		{"continue", "MARK", "", "schema: v1\nmcpServers:\n  - name: \"drawbridge\"\n"},
		{"continue", "name: x\nmcpServers:\n- name: a\n  command: x\nMARK", `, under "mcpServers"`, "- name: \"drawbridge\"\n"},
		{"continue", "name: x\nmcpServers: [{name: a, command: x}, MARK]\n", strings.ReplaceAll(brackets, "%s", `"mcpServers"`), `{"name": "drawbridge"`},
		{"codex", "MARK", "", "[mcp_servers.drawbridge]\ncommand = "},
		{"codex", "model = \"x\"\n\n[mcp_servers]\na = { command = \"x\" }\n\n[other]\nb = 1\nMARK", "", "[mcp_servers.drawbridge]\n"},
		{"codex", "mcp_servers.a.command = \"x\"\nMARK", "", "[mcp_servers.drawbridge]\n"},
		{"codex", "mcp_servers = { a = { command = \"x\" }, MARK }\n[other]\nb = 1\n", strings.ReplaceAll(braces, "%s", `"mcp_servers"`), `drawbridge = { command = "`},
		{"mistral-vibe", "[[mcp_servers]]\nname = \"a\"\nMARK", "", "[[mcp_servers]]\nname = \"drawbridge\""},
		{"mistral-vibe", "mcp_servers = [\n  { name = \"a\" },\n  MARK\n]\n", strings.ReplaceAll(brackets, "%s", `"mcp_servers"`), `{ name = "drawbridge", `},
	} {
		connector, _ := newConnector(t)
		p, err := connector.openPlan(Choice{Client: c.client})
		require.NoError(t, err)
		before := strings.ReplaceAll(strings.ReplaceAll(c.file, ", MARK", ""), "MARK", "")
		if before != "" {
			write(t, p.Path, before)
		}
		h, err := connector.ManualSetup(Choice{Client: c.client})
		require.NoError(t, err)
		last := h.Steps[len(h.Steps)-1]
		for _, step := range h.Steps {
			if strings.HasPrefix(step, "Or add") {
				last = step
			}
		}
		want := "Or add the text to " + p.Path + c.place + "."
		assert.Equalf(t, want, last, "%s %q", c.client, c.file)
		after := strings.ReplaceAll(c.file, "MARK", h.Text)
		assert.Containsf(t, h.Text, c.sample, "%s %q", c.client, c.file)
		file, ok := decodeFile([]byte(after), p.Client)
		if strings.HasPrefix(c.file, "{") { // such a file is never edited, but the client reads it
			file, ok = decodeFile([]byte("all: "+after), p.Client)
			file, _ = file["all"].(map[string]any)
		}
		if entry := lookupEntry(file, p.Client.KeyPath, EntryName); !ok || entry == nil {
			t.Errorf("%s: not valid, or without the entry:\n%s", c.client, after)
		}
	}
}

func TestRefusalSaysWhereToAddSnippet(t *testing.T) {
	c, _ := newConnector(t)
	p, err := c.openPlan(Choice{Client: "codex"})
	require.NoError(t, err)
	write(t, p.Path, "mcp_servers = { a = { command = \"x\" } }\n")
	_, err = c.Plan(Choice{Client: "codex"})
	want := "Nothing was changed. Add this manually to " + p.Path + ", between the braces of \"mcp_servers\" and separated by a comma:\ndrawbridge = { command = "
	_, hint := core.Describe(err)
	assert.Truef(t, strings.HasPrefix(hint, want), "%s\nwant %s", hint, want)
}
