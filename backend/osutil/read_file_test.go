package osutil

import (
	"os"
	"path/filepath"
	"testing"
)

// Windows lets a file be removed while it is open only if those who have it open allow it.
func TestFileCanBeRemovedWhileItIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openShared(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := os.Remove(path); err != nil {
		t.Error(err)
	}
}
