package clientconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestImportNamesCommentsThatItDoesNotCopy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format Format
		raw    string
		want   []string
	}{
		{JSONC, `{ // from the vault
			"command": "x", /* do not
			 * touch */ "url": "http://a//b", "q": "a\"// no"
		}`, []string{"from the vault", "do not", "touch"}},
		{JSON, `{"command": "//"}`, nil},
		{TOML, "[mcp.a] # work\ncommand = \"a # b\"\n# of Ada\nargs = ['#', \"it's\"]", []string{"work", "of Ada"}},
		{YAML, "a:\n  cmd: it's here # one\n  x: a#b\n  # two\n", []string{"one", "two"}},
		{YAML, "", nil},
	} {
		assert.Equal(t, c.want, commentLines([]byte(c.raw), c.format), c.raw)
	}
	note := commentNote([]byte("// a\n// b\n// c\n// "+strings.Repeat("d", 200)+"\n// token ghp_0123456789abcdefghijklmnopqrstuvwxyz\n// f\n// g"), JSONC)
	if !strings.HasPrefix(note, "Its comments are not copied: “a”, “b”, “c”, “ddd") || !strings.HasSuffix(note, "and 2 more") || strings.Contains(note, "ghp_0") || len(note) > 400 {
		t.Errorf("the note is %q", note)
	}
	assert.Empty(t, commentNote([]byte(`{"command": "x"}`), JSONC), "an entry without comments has the note")
}

func TestImportedServerHasNoteAboutItsComments(t *testing.T) {
	c, _, home, _ := newImporter(t)
	write(t, filepath.Join(home, ".codex", "config.toml"), "# of the file\n[mcp_servers.db]\ncommand = \"db\" # read only\n")
	all, err := c.Servers(Choice{Client: "codex"})
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Contains(t, all[0].Notes, "Its comments are not copied: “read only”")
}
