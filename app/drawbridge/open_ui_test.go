//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWindowIsFoundBesideDaemonAndInBundle(t *testing.T) {
	put := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	beside := put(filepath.Join(t.TempDir(), "drawbridge-window"))
	if got, ok := findWindowBinary(filepath.Join(filepath.Dir(beside), "drawbridge")); !ok || got != beside {
		t.Errorf("beside it: %s %v", got, ok)
	}
	app := filepath.Join(t.TempDir(), "Drawbridge.app/Contents")
	around := put(filepath.Join(app, "MacOS/drawbridge-window"))
	if got, ok := findWindowBinary(filepath.Join(app, "Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge")); !ok || got != around {
		t.Errorf("in a bundle: %s %v", got, ok)
	}
	// The same relative path from another folder does not lead to our bundle.
	if got, ok := findWindowBinary(filepath.Join(app, "Helpers/some/Contents/MacOS/drawbridge")); ok {
		t.Errorf("outside a bundle: %s", got)
	}
}
