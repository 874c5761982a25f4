package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each guarantee names a test. TestTestsNamedInDocumentsExist looks for the Go
// tests; this test looks for those of the page.
func TestEveryPromiseNamesItsTest(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "docs/reliability.md"))
	require.NoError(t, err)
	var page strings.Builder
	for _, pattern := range []string{"frontend/e2e/*.mjs", "frontend/src/*/*.test.ts*", "frontend/src/*/*/*.test.ts*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err, pattern)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			page.WriteString(filepath.Base(file) + "\n")
			page.Write(src)
		}
	}
	_, lists, _ := strings.Cut(string(src), "\n## Servers and their processes\n")
	lists, _, _ = strings.Cut(lists, "\n## Limitations\n")
	quoted := regexp.MustCompile("`([^`]+)`")
	goTest := regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]`)
	own, rows := 0, 0
	for line := range strings.Lines(lists) {
		promise, tests, _ := strings.Cut(line, ": `")
		if !strings.HasPrefix(line, "- ") {
			continue
		}
		rows++
		if !regexp.MustCompile(`[A-Z]{2,3}-\d\d`).MatchString(promise) {
			own++
		}
		found := false
		for _, m := range quoted.FindAllStringSubmatch("`"+tests, -1) {
			switch name := m[1]; {
			case goTest.MatchString(name):
				found = true
			case strings.Contains(page.String(), name):
				found = true
			case strings.HasSuffix(name, ".tsx"), strings.HasPrefix(name, "hostile: "):
				t.Errorf("the page has no test %q", name)
			}
		}
		assert.Truef(t, found, "no test: %s", line)
	}
	assert.Truef(t, rows >= 90 && own >= 30, "%d promises, %d of them beside the list that we began with", rows, own)
	t.Logf("%d promises, %d of them beside the list that we began with", rows, own)
}
