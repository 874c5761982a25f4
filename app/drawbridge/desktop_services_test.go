//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The first program found may belong to the display server that is not running.
func TestFailingClipboardProgramIsSkipped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	put := func(name, script string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	kept := filepath.Join(dir, "kept")
	put("wl-copy", "exit 1")
	put("xclip", `test "$*" = "-selection clipboard" && cat > `+kept)
	require.NoError(t, copyText("http://x/mcp"))
	got, _ := os.ReadFile(kept)
	assert.Equal(t, "http://x/mcp", string(got), "the clipboard holds")
	put("xclip", "exit 1")
	put("xsel", "exit 1")
	assert.ErrorContains(t, copyText("x"), "xsel", "without any that works")
}
