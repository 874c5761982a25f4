package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who reads how Drawbridge is built finds every package, and none that is gone.
func TestTheTableOfPackagesIsComplete(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(src), "| package | owns |")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[string]bool{"config": false} // the one beside backend
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for i, name := range strings.Split(cells[1], "`") {
				if i%2 == 1 {
					named[name] = true
				}
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "backend"))
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{"config": true}
	for _, e := range entries {
		if e.IsDir() {
			there[e.Name()] = true
			if !named[e.Name()] {
				t.Errorf("the package %s is not in the table", e.Name())
			}
		}
	}
	for name := range named {
		if !there[name] {
			t.Errorf("there is no package %s", name)
		}
	}
}
