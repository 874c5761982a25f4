package backend_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every package whose tests may start a goroutine looks at their end for one that was
// left running.
func TestEveryPackageLooksForGoroutinesThatAreLeft(t *testing.T) {
	// What these do, they do before they return, or in a screen's own loop.
	without := []string{".", "../app/tray", "../app/window"}
	checked := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "*/*_test.go", "../app/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			dir := filepath.Dir(file)
			checked[dir] = checked[dir] || strings.Contains(string(src), "goleak.VerifyTestMain(") || strings.Contains(string(src), "goleak.Find(")
		}
	}
	for dir, does := range checked {
		if dir = filepath.ToSlash(dir); !does && !slices.Contains(without, dir) {
			t.Errorf("%s has tests, and nothing looks for goroutines that they leave", dir)
		}
	}
}
