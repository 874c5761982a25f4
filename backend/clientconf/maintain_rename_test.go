package clientconf

import (
	"path/filepath"
	"strings"
	"testing"

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
