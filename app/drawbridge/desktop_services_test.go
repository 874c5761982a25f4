//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first program found may belong to the display server that is not running.
func TestFailingClipboardProgramIsSkipped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	put := func(name, script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(dir, "kept")
	put("wl-copy", "exit 1")
	put("xclip", `test "$*" = "-selection clipboard" && cat > `+kept)
	if err := copyText("http://x/mcp"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(kept); string(got) != "http://x/mcp" {
		t.Errorf("the clipboard holds %q", got)
	}
	put("xclip", "exit 1")
	put("xsel", "exit 1")
	if err := copyText("x"); err == nil || !strings.Contains(err.Error(), "xsel") {
		t.Errorf("without any that works: %v", err)
	}
}
