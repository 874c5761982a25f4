package osutil

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWriteReplacesFileAtomically(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(dir, "file")
	for _, content := range []string{"a longer text", "short"} {
		if err := WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != content {
			t.Fatalf("%q, %v; want %q", got, err, content)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("the folder holds %v", all)
	}
}

func TestFailedWriteKeepsOldFileOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "by a folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x"), 0o644); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if all, _ := os.ReadDir(dir); len(all) != 1 {
		t.Errorf("the folder holds %v", all)
	}
}

func TestReplaceKeepsSymlinkAndMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	if err := os.WriteFile(real, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := ReplaceFile(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != real {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	src, err := os.ReadFile(real)
	info, statErr := os.Stat(real)
	if err != nil || statErr != nil || string(src) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("what it leads to is %q with %v: %v, %v", src, info.Mode(), err, statErr)
	}
}
