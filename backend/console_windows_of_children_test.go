package backend_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
				if !strings.Contains(line, "osutil.HideConsole(exec.Command") {
					t.Errorf("%s starts a program that may show a console window: %s", file, strings.TrimSpace(line))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if started < 5 {
		t.Errorf("only %d starts were found", started)
	}
}
