//go:build !windows

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFolderThatOtherUsersMayWriteIsRefused: whoever can write to the data folder can replace the
// configuration in it, and so run commands as this user.
func TestFolderThatOtherUsersMayWriteIsRefused(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: false, 0o777: true, 0o702: true, 0o777 | os.ModeSticky: true} {
		data := filepath.Join(t.TempDir(), "data")
		require.NoError(t, os.Mkdir(data, 0o700))
		if err := os.Chmod(data, mode); err != nil { // regardless of the umask
			t.Fatal(err)
		}
		f := Folders{Config: data, Data: data, State: data, Logs: data, CustomData: true}
		err := f.Make()
		assert.Falsef(t, refused && (err == nil || !strings.Contains(err.Error(), "chmod o-w") || !strings.Contains(err.Error(), data)), "mode %v gives %v", mode, err)
		assert.Falsef(t, !refused && err != nil, "mode %v is refused: %v", mode, err)
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
	require.NoError(t, f.Make())
	require.NoError(t, os.Chown(data, 65534, 65534))
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
	assert.Errorf(t, (Folders{Config: dir, Data: closed, State: dir, Logs: dir, CustomData: true}).Make(), "%s can be used", closed)
	assert.NoError(t, (Folders{Config: dir, Data: dir, State: dir, Logs: dir, CustomData: true}).Make())
	left, err := os.ReadDir(dir)
	assert.Truef(t, len(left) == 0 && err == nil, "the check leaves %v (%v)", left, err)
}

// TestConfigThatOthersCanWriteIsRefused: whoever can write to it, or replace it, runs commands as this user.
func TestConfigThatOthersCanWriteIsRefused(t *testing.T) {
	const text = `{"mcpServers": {}}`
	chmod := func(path string, mode os.FileMode) func(string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, path), mode) }
	}
	link := func(dir string) error {
		return errors.Join(os.Rename(dir+"/a/b/c.json", dir+"/real.json"), os.Symlink(dir+"/real.json", dir+"/a/b/c.json"), os.Chmod(dir, 0o777))
	}
	for name, c := range map[string]struct {
		change  func(dir string) error
		refused string // what the message contains
	}{
		"private":                       {chmod("a/b/c.json", 0o600), ""},
		"readable":                      {chmod("a/b/c.json", 0o644), ""},
		"group":                         {chmod("a/b/c.json", 0o664), ""},
		"writable":                      {chmod("a/b/c.json", 0o666), "chmod o-w"},
		"folder writable":               {chmod("a/b", 0o777), "a/b"},
		"folder writable and sticky":    {chmod("a/b", 0o777|os.ModeSticky), ""},
		"folder above writable":         {chmod("a", 0o777), "can write to"},
		"link to a file others replace": {link, "can write to"},
		"file of another user":          {func(dir string) error { return os.Chown(dir+"/a/b/c.json", 65534, -1) }, "another user (65534)"},
		"folder of another user":        {func(dir string) error { return os.Chown(dir+"/a/b", 65534, -1) }, "another user (65534)"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "another user") && os.Getuid() != 0 {
				t.Skip("only root can make files of several users")
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "a/b/c.json")
			require.NoError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600), c.change(dir)))
			_, err := Sources{File: path}.Load()
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%v, want %q", err, c.refused)
			}
		})
	}
}
