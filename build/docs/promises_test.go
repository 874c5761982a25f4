package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each guarantee names a test. TestTestsNamedInDocumentsExist looks for the Go
// tests; this test looks for those of the page.
func TestEveryPromiseNamesItsTest(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "docs/reliability.md"))
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	for _, pattern := range []string{"frontend/e2e/*.mjs", "frontend/src/*/*.test.ts*", "frontend/src/*/*/*.test.ts*"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
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
		if !found {
			t.Errorf("no test: %s", line)
		}
	}
	if rows < 90 || own < 30 {
		t.Errorf("%d promises, %d of them beside the list that we began with", rows, own)
	}
	t.Logf("%d promises, %d of them beside the list that we began with", rows, own)
}
