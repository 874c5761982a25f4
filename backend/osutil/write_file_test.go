package osutil

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteReplacesFileAtomically(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	path := filepath.Join(dir, "file")
	for _, content := range []string{"a longer text", "short"} {
		require.NoError(t, WriteFile(path, []byte(content), 0o600))
		got, err := os.ReadFile(path)
		require.Truef(t, err == nil && string(got) == content, "%q, %v; want %q", got, err, content)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	all, _ := os.ReadDir(dir)
	assert.Len(t, all, 1, "the folder holds")
}

func TestFailedWriteKeepsOldFileOnly(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "by a folder"), 0o700))
	assert.Error(t, WriteFile(path, []byte("x"), 0o644), "a folder was replaced by a file")
	all, _ := os.ReadDir(dir)
	assert.Len(t, all, 1, "the folder holds")
}

func TestReplaceKeepsSymlinkAndMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real.json"), filepath.Join(dir, "link.json")
	require.NoError(t, os.WriteFile(real, []byte("old"), 0o640))
	require.NoError(t, os.Symlink(real, link))
	require.NoError(t, ReplaceFile(link, []byte("new"), 0o600))
	if to, err := os.Readlink(link); err != nil || to != real {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	src, err := os.ReadFile(real)
	info, statErr := os.Stat(real)
	if err != nil || statErr != nil || string(src) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("what it leads to is %q with %v: %v, %v", src, info.Mode(), err, statErr)
	}
}
