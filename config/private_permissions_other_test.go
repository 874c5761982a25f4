//go:build !windows

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFolderThatOtherUsersMayWriteIsRefused: whoever can write to the data folder can replace the
// configuration in it, and so run commands as this user.
func TestFolderThatOtherUsersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: false, 0o777: true, 0o702: true, 0o777 | os.ModeSticky: true} {
		data := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(data, mode); err != nil { // regardless of the umask
			t.Fatal(err)
		}
		f := Folders{Config: data, Data: data, State: data, Logs: data, CustomData: true}
		err := f.Make()
		if refused && (err == nil || !strings.Contains(err.Error(), "chmod o-w") || !strings.Contains(err.Error(), data)) {
			t.Errorf("mode %v gives %v", mode, err)
		}
		if !refused && err != nil {
			t.Errorf("mode %v is refused: %v", mode, err)
		}
	}
}

// TestFolderOfAnotherUserIsRefused for the same reason.
func TestFolderOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can make files of several users")
	}
	data := t.TempDir()
	f := Folders{Config: data, Data: data, State: data, Logs: data, CustomData: true}
	if err := f.Make(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(data, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if err := f.Make(); err == nil || !strings.Contains(err.Error(), "another user (65534)") || !strings.Contains(err.Error(), "chown 0") {
		t.Errorf("a folder of another user gives %v", err)
	}
}

func TestDataFolderThatCannotBeWrittenIsAnError(t *testing.T) {
	const closed = "/proc/self/fdinfo" // for root, too
	if _, err := os.Stat(closed); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := (Folders{Config: dir, Data: closed, State: dir, Logs: dir, CustomData: true}).Make(); err == nil {
		t.Errorf("%s can be used", closed)
	}
	if err := (Folders{Config: dir, Data: dir, State: dir, Logs: dir, CustomData: true}).Make(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); len(left) != 0 || err != nil {
		t.Errorf("the check leaves %v (%v)", left, err)
	}
}
