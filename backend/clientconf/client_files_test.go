package clientconf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const program = `{"command": "x"}`

// filesOfClients are clients that read servers from several files.
var filesOfClients = []struct {
	client  string
	project bool
	files   map[string]string
	want    []string // name and entry
	shims   int      // files that have an entry after a move to a single one
}{
	{"continue", false, map[string]string{
		".continue/config.yaml":           "name: mine\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: a\n    command: x\n",
		".continue/mcpServers/tools.yaml": "name: t\nversion: 1.0.0\nschema: v1\nmcpServers:\n  - name: b\n    command: x\n",
		".continue/mcpServers/more.json":  `{"mcpServers": {"c": ` + program + `}}`,
	}, []string{"a", "b", "c"}, 1},
	{"opencode", false, map[string]string{
		".config/opencode/opencode.jsonc": `{"mcp": {"a": {"type": "local", "command": ["x"]}}}`,
		".config/opencode/opencode.json":  `{"mcp": {"b": {"type": "local", "command": ["x"]}}}`,
	}, []string{"a", "b"}, 1},
	{"crush", false, map[string]string{
		".config/crush/crush.json":      `{"options": {}}`,
		".local/share/crush/crush.json": `{"mcp": {"b": {"type": "stdio", "command": "x"}}}`,
	}, []string{"b"}, 1},
	{"vscode", false, map[string]string{
		".config/Code/User/mcp.json":               `{"servers": {}}`,
		".config/Code/User/profiles/ab12/mcp.json": `{"servers": {"p": ` + program + `}}`,
	}, []string{"p"}, 1},
	{"kiro", false, map[string]string{
		".kiro/settings/mcp.json": `{"mcpServers": {"a": ` + program + `}}`,
		".kiro/agents/dev.json":   `{"tools": ["read", "@b", "@c/echo"], "mcpServers": {"b": ` + program + `, "c": ` + program + `, "d": ` + program + `}}`,
	}, []string{"a", "b", "c include=echo", "d none"}, 2},
	{"amazon-q", false, map[string]string{
		".aws/amazonq/mcp.json":            `{"mcpServers": {"a": ` + program + `}}`,
		".aws/amazonq/cli-agents/dev.json": `{"mcpServers": {"b": ` + program + `}}`,
	}, []string{"a", "b"}, 2},
	{"opencode", true, map[string]string{
		"opencode.json":            `{"mcp": {"a": {"type": "local", "command": ["x"]}}}`,
		".opencode/opencode.jsonc": `{"mcp": {"b": {"type": "local", "command": ["x"]}}} // mine`,
	}, []string{"a", "b"}, 1},
	{"continue", true, map[string]string{".continue/mcpServers/mine.json": `{"mcpServers": {"a": ` + program + `}}`}, []string{"a"}, 0},
	{"kiro", true, map[string]string{
		".kiro/agents/dev.json": `{"mcpServers": {"b": ` + program + `}}`,
	}, []string{"b"}, 1},
}

// TestServersOfAllFilesOfAClientAreImported covers clients that read servers from several files.
func TestServersOfAllFilesOfAClientAreImported(t *testing.T) {
	for _, c := range filesOfClients {
		t.Run(c.client, func(t *testing.T) {
			connector, home, config := newMover(t)
			for path, text := range c.files {
				write(t, filepath.Join(home, path), text)
			}
			written, ok := connector.system.locate(mustByID(t, c.client))
			choice := Choice{Client: c.client}
			if c.project {
				choice.Project = home
			} else if !ok {
				t.Fatal("no file")
			}
			plan, err := connector.PlanImport(choice, nil)
			require.NoError(t, err)
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
				if holds := c.files[filepath.ToSlash(strings.TrimPrefix(i.File, home+string(filepath.Separator)))]; i.File != "" && (!named || !strings.Contains(holds, i.Name)) || i.File == written.path {
					t.Errorf("%s: file %q, notes %q", i.Name, i.File, i.Notes)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("imported %q, want %q (%+v)", got, c.want, plan.Skipped)
			}
			_, err = plan.Apply(t.Context())
			require.NoError(t, err)
			assert.Contains(t, content(t, config), `"command": "x"`)
		})
	}
}

func mustByID(t *testing.T, id string) Client {
	t.Helper()
	client, err := ByID(id)
	require.NoError(t, err)
	return client
}

// Every file loses its servers, has a record of its own, and is restored byte for byte.
func TestServersOfAllFilesOfAClientAreMovedAndUndone(t *testing.T) {
	for _, c := range filesOfClients {
		for _, combined := range []bool{false, true} {
			t.Run(fmt.Sprint(c.client, combined), func(t *testing.T) {
				connector, home, config := newMover(t)
				choice := Choice{Client: c.client}
				if c.project {
					choice.Project = home
				}
				for path, text := range c.files {
					write(t, filepath.Join(home, path), text)
				}
				write(t, config, "{}\n")
				p, err := connector.PlanMove(choice, nil, combined)
				require.NoError(t, err)
				require.NoError(t, connector.Apply(t.Context(), p))
				records, err := connector.records()
				require.NoError(t, err)
				recorded, shims := 0, 0
				for path, text := range c.files {
					path = filepath.Join(home, path)
					for key, r := range records {
						if r.Path == path {
							recorded++
						}
						s, _ := connector.Status(key)
						assert.Equal(t, Connected, s.State, key)
					}
					now := content(t, path)
					if strings.Contains(now, connector.program) {
						shims++
					}
					if strings.Contains(text, "x") && strings.Contains(text, "command") && (now == text || strings.Contains(now, `"x"`)) {
						t.Errorf("%s is\n%s", path, now)
					}
				}
				assert.Falsef(t, combined && shims != c.shims, "%d files have an entry, want %d", shims, c.shims)
				if left, err := connector.Servers(choice); err != nil || len(left) > 0 || !combined && recorded != len(records) || p.MovedCount() != len(c.want) {
					t.Errorf("left %+v, %d records, %d moved, %v", left, len(records), p.MovedCount(), err)
				}
				if at := slices.IndexFunc(connector.List(), func(s Status) bool { return s.Key == p.Key() && s.State == Connected && s.Connected }); at < 0 {
					t.Error("it is not listed as connected")
				}
				undo(t, connector, p.Key())
				for path, text := range c.files {
					assert.Equal(t, text, content(t, filepath.Join(home, path)), path)
				}
				if records, err = connector.records(); err != nil || len(records) > 0 || content(t, config) != "{}\n" {
					t.Errorf("%d records are left, %v, and\n%s", len(records), err, content(t, config))
				}
			})
		}
	}
}

func TestServersOfFurtherFilesAreUndoneSeparately(t *testing.T) {
	c, home, config := newMover(t)
	main, other := filepath.Join(home, ".config/opencode/opencode.jsonc"), filepath.Join(home, ".config/opencode/opencode.json")
	const mine, theirs = "{\n  // mine\n  \"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"x\"]}}\n}\n", `{"mcp": {"b": {"type": "local", "command": ["y"]}, "c": {"type": "local", "command": ["z"]}}}`
	write(t, main, mine)
	write(t, other, theirs)
	p, err := c.PlanMove(Choice{Client: "opencode"}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(t.Context(), p))
	for n, step := range []struct{ name, path, text, gone string }{{"a", main, mine, `"x"`}, {"b", "", "", `"y"`}, {"c", other, theirs, `"z"`}} {
		_, err = c.UndoServers(t.Context(), "opencode", []string{step.name}, false)
		require.NoError(t, err)
		if step.path != "" && content(t, step.path) != step.text {
			t.Errorf("%s is\n%s", step.path, content(t, step.path))
		}
		if now, _, err := readFile(config); err != nil || strings.Contains(string(now), step.gone) {
			t.Errorf("%s is left in\n%s %v", step.name, now, err)
		}
		s, connected := c.Status("opencode")
		assert.Truef(t, connected == (n < 2) && len(s.Choice.Servers) == 2-n, "after %s: %+v", step.name, s)
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
	assert.Truef(t, err == nil && len(plan.Servers) == 1 && len(plan.Skipped) == 1 && plan.Skipped[0].Name == "bad.json", "%v %+v", err, plan)
}
