package clientconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The entry keeps the name that the client's rules refer to, and undo still restores every byte.
func TestRenamedServerIsRenamedInFilesOfClients(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, change, warns, after string }{
		{"unchanged", "", "", fiveServers},
		{"changed manually", `"stdio",`, "names the server \"github\", which does not exist. Undo the entry with: drawbridge clients undo claude-code github", ""},
	} {
		c, home, config := newMover(t)
		path := filepath.Join(home, ".claude.json")
		write(t, path, fiveServers)
		write(t, config, "{}\n")
		p, err := c.PlanMove(Choice{Client: "claude-code"}, nil, false)
		require.NoError(t, err)
		require.NoError(t, c.Apply(t.Context(), p))
		write(t, config, strings.Replace(content(t, config), `"github":`, `"great":`, 1))
		if test.change != "" {
			write(t, path, strings.Replace(content(t, path), test.change, test.change+` "--mine",`, 1))
		}
		warnings := strings.Join(c.RenameServer(t.Context(), "github", "great", "great", nil), "\n")
		got := content(t, path)
		if test.change != "" {
			assert.Contains(t, warnings, test.warns, test.name)
			assert.Contains(t, got, `"--mine"`, test.name)
			continue
		}
		if !strings.Contains(warnings, "uses the old name until") || strings.Contains(warnings, "names the server") || !strings.Contains(got, `"great"`) || strings.Count(got, `"github"`) != 1 {
			t.Errorf("%s: %s\n%s", test.name, warnings, got)
		}
		s, _ := c.Status("claude-code")
		assert.Equal(t, Connected, s.State, test.name)
		if how := undo(t, c, "claude-code"); how != Restored || content(t, path) != test.after || strings.Contains(content(t, config), "great") {
			t.Errorf("%s: %s\n%s\n%s", test.name, how, content(t, path), content(t, config))
		}
	}
}

// The file may be on a disk or a branch that is away: its servers are in Drawbridge only.
func TestUndoOfMoveKeepsServersIfTheFileIsAbsent(t *testing.T) {
	c, home, config := newMover(t)
	path := filepath.Join(home, ".cursor/mcp.json")
	const written = `{"mcpServers": {"a": {"command": "a", "env": {"TOKEN": "ghp_0123456789012345678901234567890123456"}}}}` + "\n"
	write(t, path, written)
	write(t, config, "{}\n")
	p, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(t.Context(), p))
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	moved := content(t, config)
	_, err = c.Undo(t.Context(), "cursor", UndoOptions{})
	require.Equal(t, core.CodeConflict, core.CodeOf(err))
	require.Error(t, c.UndoAll(t.Context(), true, false, func(UndoResult) {}))
	assert.Equal(t, moved, content(t, config))
	s, _ := c.Status("cursor")
	assert.False(t, s.At.IsZero(), "the record is gone")
	how, err := c.Undo(t.Context(), "cursor", UndoOptions{Force: true})
	require.NoError(t, err)
	assert.Equal(t, Restored, how)
	assert.Equal(t, written, content(t, path))
	assert.Equal(t, "{}\n", content(t, config))
}

func TestUndoNamesWhatIsWrongInABrokenFileAndCanRestoreTheOriginal(t *testing.T) {
	c, home, config := newMover(t)
	path := filepath.Join(home, ".cursor/mcp.json")
	const written = `{"mcpServers": {"a": {"command": "a"}}}` + "\n"
	write(t, path, written)
	p, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	require.NoError(t, err)
	require.NoError(t, c.Apply(t.Context(), p))
	broken := content(t, path) + `{"mine`
	write(t, path, broken)
	plan, err := c.PlanUndo("cursor")
	require.NoError(t, err)
	assert.Contains(t, plan.Problem, "is not valid JSON: line ")
	_, err = c.Undo(t.Context(), "cursor", UndoOptions{})
	_, hint := core.Describe(err)
	assert.Contains(t, hint, "--force")
	assert.Equal(t, broken, content(t, path))
	how, err := c.Undo(t.Context(), "cursor", UndoOptions{Force: true})
	require.NoError(t, err)
	assert.Equal(t, Restored, how)
	assert.Equal(t, written, content(t, path))
	assert.NoFileExists(t, config)
	kept, err := filepath.Glob(filepath.Join(c.dir, "backups", "cursor-*"))
	require.NoError(t, err)
	assert.Equal(t, broken, content(t, kept[len(kept)-1]))
}

// A client that does not know the variable keeps the text, too.
func TestDollarWithinAWordIsText(t *testing.T) {
	c, home, _ := newMover(t)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".gemini"), 0o700))
	write(t, filepath.Join(home, ".gemini/settings.json"), `{"mcpServers": {"a": {"command": "a", "args": ["p4$sw0rd", "$$HOME", "Bearer $T", "$A$B", "x/$C"]}}}`)
	p, err := c.PlanImport(Choice{Client: "gemini-cli"}, nil)
	require.NoError(t, err)
	assert.JSONEq(t, `{"command": "a", "args": ["p4$sw0rd", "$$HOME", "Bearer ${T}", "${A}${B}", "x/${C}"]}`, string(p.Servers[0].Entry))
}
