//go:build linux || darwin

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWindowIsFoundBesideDaemonAndInBundle(t *testing.T) {
	put := func(path string) string {
		t.Helper()
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o755))
		return path
	}
	beside := put(filepath.Join(t.TempDir(), "drawbridge-window"))
	got, ok := findWindowBinary(filepath.Join(filepath.Dir(beside), "drawbridge"))
	assert.Truef(t, ok && got == beside, "beside it: %s %v", got, ok)
	app := filepath.Join(t.TempDir(), "Drawbridge.app/Contents")
	around := put(filepath.Join(app, "MacOS/drawbridge-window"))
	got, ok = findWindowBinary(filepath.Join(app, "Helpers/Drawbridge Daemon.app/Contents/MacOS/drawbridge"))
	assert.Truef(t, ok && got == around, "in a bundle: %s %v", got, ok)
	// The same relative path from another folder does not lead to our bundle.
	got, ok = findWindowBinary(filepath.Join(app, "Helpers/some/Contents/MacOS/drawbridge"))
	assert.Falsef(t, ok, "outside a bundle: %s", got)
}
