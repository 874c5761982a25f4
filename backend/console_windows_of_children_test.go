package backend_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On Windows a console window flashes up for each child of the tray's program that nobody
// hides. So whoever starts one hides it; process does so by flags of its own.
func TestEveryChildIsStartedWithoutAConsoleWindow(t *testing.T) {
	started := 0
	for _, tree := range []string{".", "../app", "../config"} {
		err := filepath.WalkDir(tree, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "process" || d.Name() == "mcptest") {
				if d != nil && d.IsDir() && err == nil {
					return filepath.SkipDir
				}
				return err
			}
			if filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
				return nil
			}
			src, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(src)) {
				if !strings.Contains(line, "exec.Command") || strings.HasPrefix(strings.TrimSpace(line), "//") {
					continue
				}
				started++
				assert.Contains(t, line, "osutil.HideConsole(exec.Command")
			}
			return nil
		})
		require.NoError(t, err)
	}
	assert.Truef(t, started >= 5, "only %d starts were found", started)
}
