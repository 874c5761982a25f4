//go:build e2e && linux

package e2e

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/drawbridge-mcp/drawbridge/backend/store" // the driver of databases

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServersOfEachSourceRun moves everything on a machine with another gateway or a plugin here, stores the
// secrets that are asked for by name, and calls a server. What is exported is the same when it is added
// elsewhere, and undo restores every file byte for byte.
func TestServersOfEachSourceRun(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("../../backend/clientconf/testdata/sources/*.txt")
	require.Truef(t, err == nil && len(cases) >= 14, "%v %v", cases, err)
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, image := take(t, path), "none"
			if strings.Contains(text, "IMAGE") {
				image = emptyImage(t)
			}
			d := start(t, object{"mcpServers": object{}})
			text = strings.NewReplacer("HOME/", d.home+"/", "PROGRAM", publicProgram(t), "IMAGE", image).Replace(text)
			isClient := writeSource(t, d.home, text)
			before, config := tree(t, d.home), take(t, filepath.Join(d.data, "config.jsonc"))

			move := command(t, d.env(), binary, "clients", "move", "--all", "--yes", "--data", d.data)
			out, err := move.CombinedOutput() // 1 if an entry cannot come along
			require.Falsef(t, err != nil && move.ProcessState.ExitCode() != 1, "%v\n%s", err, out)
			for _, found := range regexp.MustCompile(`drawbridge secret set (\S+)`).FindAllStringSubmatch(string(out), -1) {
				set := command(t, d.env(), binary, "secret", "set", found[1], "--data", d.data)
				set.Stdin = strings.NewReader("secret of " + found[1])
				run(t, set, 0)
			}
			d.cli(0, "restart", "files")
			d.running("files")
			assert.Contains(t, d.cli(0, "call", "files", "echo", `{"text": "hello"}`), "hello")
			assert.Falsef(t, isClient && !strings.Contains(take(t, filepath.Join(d.home, ".cursor/mcp.json")), `"stdio"`), "Cursor is not connected\n%s", out)

			exported, elsewhere := d.cli(0, "export"), newDaemon(t)
			assert.NotContains(t, exported, "secret of", "a secret was exported")
			if strings.Contains(exported, `": {`+"\n    ") {
				elsewhere.write("config.jsonc", object{"mcpServers": object{}})
				add := command(t, elsewhere.env(), binary, "add", "-", "--yes", "--data", elsewhere.data)
				add.Stdin = strings.NewReader(exported)
				run(t, add, 0)
				assert.Equal(t, exported, elsewhere.cli(0, "export"), "exported again")
			}

			d.cli(0, "clients", "undo", "--all", "--yes")
			assert.Equal(t, before, tree(t, d.home), "after undo")
			assert.Equal(t, config, take(t, filepath.Join(d.data, "config.jsonc")), "after undo")
		})
	}
}

// writeSource writes the files of a source. A database is written as its statements.
func writeSource(t *testing.T, home, text string) (isClient bool) {
	t.Helper()
	for _, part := range strings.Split("\n"+text, "\n-- ")[1:] {
		name, body, _ := strings.Cut(part, "\n")
		if name == "servers" || name == "notes" {
			continue
		}
		isClient = isClient || name == ".cursor/mcp.json"
		path := filepath.Join(home, filepath.FromSlash(name))
		if !strings.HasPrefix(body, "CREATE TABLE") {
			put(t, path, body)
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		db, err := sql.Open("sqlite", "file:"+path)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), "PRAGMA journal_mode = wal;"+body)
		if err = errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return isClient
}
