package clientconf

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestServersOfAllFilesOfAClientAreImported covers clients that read servers from several files.
func TestServersOfAllFilesOfAClientAreImported(t *testing.T) {
	const program = `{"command": "x"}`
	for _, c := range []struct {
		client string
		files  map[string]string
		want   []string // name and entry
	}{
		{"continue", map[string]string{
			".continue/config.yaml":           "name: mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: a\n    command: x\n",
			".continue/mcpServers/tools.yaml": "name: t\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: b\n    command: x\n",
			".continue/mcpServers/more.json":  `{"mcpServers": {"c": ` + program + `}}`,
		}, []string{"a", "b", "c"}},
		{"opencode", map[string]string{
			".config/opencode/opencode.jsonc": `{"mcp": {"a": {"type": "local", "command": ["x"]}}}`,
			".config/opencode/opencode.json":  `{"mcp": {"b": {"type": "local", "command": ["x"]}}}`,
		}, []string{"a", "b"}},
		{"crush", map[string]string{
			".config/crush/crush.json":      `{"options": {}}`,
			".local/share/crush/crush.json": `{"mcp": {"b": {"type": "stdio", "command": "x"}}}`,
		}, []string{"b"}},
		{"vscode", map[string]string{
			".config/Code/User/mcp.json":               `{"servers": {}}`,
			".config/Code/User/profiles/ab12/mcp.json": `{"servers": {"p": ` + program + `}}`,
		}, []string{"p"}},
		{"kiro", map[string]string{
			".kiro/settings/mcp.json": `{"mcpServers": {"a": ` + program + `}}`,
			".kiro/agents/dev.json":   `{"tools": ["read", "@b", "@c/echo"], "mcpServers": {"b": ` + program + `, "c": ` + program + `, "d": ` + program + `}}`,
		}, []string{"a", "b", "c include=echo", "d none"}},
		{"amazon-q", map[string]string{
			".aws/amazonq/mcp.json":            `{"mcpServers": {"a": ` + program + `}}`,
			".aws/amazonq/cli-agents/dev.json": `{"mcpServers": {"b": ` + program + `}}`,
		}, []string{"a", "b"}},
	} {
		t.Run(c.client, func(t *testing.T) {
			connector, home, config := newMover(t)
			for path, text := range c.files {
				write(t, filepath.Join(home, path), text)
			}
			written, ok := connector.system.locate(mustByID(t, c.client))
			if !ok {
				t.Fatal("no file")
			}
			plan, err := connector.PlanImport(Choice{Client: c.client}, nil)
			must(t, err)
			var got []string
			for _, i := range plan.Servers {
				name := i.Name
				switch {
				case strings.Contains(string(i.Entry), `"includeTools":["echo"]`):
					name += " include=echo"
				case strings.Contains(string(i.Entry), `"excludeTools":["*"]`):
					name += " none"
				}
				got = append(got, name)
				named := strings.Contains(strings.Join(i.Notes, "\n"), "It is in "+i.File)
				if holds := c.files[strings.TrimPrefix(i.File, home+"/")]; i.File != "" && (!named || !strings.Contains(holds, i.Name)) || i.File == written.path {
					t.Errorf("%s: file %q, notes %q", i.Name, i.File, i.Notes)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("imported %q, want %q (%+v)", got, c.want, plan.Skipped)
			}
			_, err = plan.Apply(t.Context())
			must(t, err)
			if text := content(t, config); !strings.Contains(text, `"command": "x"`) {
				t.Error(text)
			}
		})
	}
}

func mustByID(t *testing.T, id string) Client {
	t.Helper()
	client, err := ByID(id)
	must(t, err)
	return client
}

// A move leaves the entries in files that Drawbridge does not write, and says where they are.
func TestMoveLeavesServersOfOtherFilesInPlace(t *testing.T) {
	c, home, _ := newMover(t)
	main, other := filepath.Join(home, ".config/opencode/opencode.jsonc"), filepath.Join(home, ".config/opencode/opencode.json")
	const mine, theirs = "{\n  // mine\n  \"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}\n}\n", `{"mcp": {"b": {"type": "local", "command": ["y"]}}}`
	write(t, main, mine)
	write(t, other, theirs)
	p, err := c.PlanMove(Choice{Client: "opencode"}, nil, false)
	must(t, err)
	if len(p.Skipped) != 1 || p.Skipped[0].Name != "b" || !strings.Contains(p.Skipped[0].Reason, other) {
		t.Errorf("%+v", p.Skipped)
	}
	must(t, c.Apply(t.Context(), p))
	if content(t, other) != theirs || strings.Contains(content(t, main), `["x"]`) {
		t.Errorf("%s\n%s", content(t, main), content(t, other))
	}
	if how := undo(t, c, "opencode"); how != Restored || content(t, main) != mine {
		t.Errorf("%s\n%s", how, content(t, main))
	}
}

// Continue's CLI reads only config.yaml, so the entry is written there if the file exists.
func TestContinueIsConnectedInConfigYAML(t *testing.T) {
	c, home, _ := newMover(t)
	path := filepath.Join(home, ".continue/config.yaml")
	const file = "name: mine # keep\nversion: 1.0.0\nschema: v1\nmodels:\n  - name: m\n    provider: openai\n    model: x\n"
	write(t, path, file)
	if p := connect(t, c, "continue"); p.Path != path || !strings.Contains(content(t, path), "stdio") {
		t.Errorf("%s:\n%s", p.Path, content(t, path))
	}
	if how := undo(t, c, "continue"); how != Restored || content(t, path) != file {
		t.Errorf("%s\n%s", how, content(t, path))
	}
}

func TestUnreadableFurtherFileIsSkippedWithItsName(t *testing.T) {
	c, home, _ := newMover(t)
	write(t, filepath.Join(home, ".kiro/settings/mcp.json"), `{"mcpServers": {"a": {"command": "x"}}}`)
	write(t, filepath.Join(home, ".kiro/agents/bad.json"), `{"mcpServers": `)
	plan, err := c.PlanImport(Choice{Client: "kiro"}, nil)
	if err != nil || len(plan.Servers) != 1 || len(plan.Skipped) != 1 || plan.Skipped[0].Name != "bad.json" {
		t.Errorf("%v %+v", err, plan)
	}
}
