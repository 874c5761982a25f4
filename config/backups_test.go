package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLastConfigBackupsAreKept(t *testing.T) {
	c := BackupsOf(t.TempDir())
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	first, err := c.Create("/x/config.jsonc", []byte("{}"), at)
	require.NoError(t, err)
	again, err := c.Create("/x/config.jsonc", []byte(`{"a":1}`), at)
	require.NoError(t, err, "two copies of one moment are one")
	require.NotEqual(t, first, again, "two copies of one moment are one")
	if text, err := c.Read(first); err != nil || string(text) != "{}" {
		t.Errorf("%q %v", text, err)
	}
	for n := range maxBackups + 5 {
		_, err = c.Create("config.yaml", []byte("a: 1"), at.Add(time.Duration(n+1)*time.Second))
		require.NoError(t, err)
	}
	all, err := c.List()
	if err != nil || len(all) != maxBackups || !all[0].At.Equal(at.Add((maxBackups+5)*time.Second)) {
		t.Errorf("%d copies, the newest of %v: %v", len(all), all[0].At, err)
	}
	info, err := os.Stat(filepath.Join(c.Dir, all[0].Name))
	assert.Truef(t, err == nil && !(info.Mode().Perm() != 0o600 && os.PathSeparator == '/'), "others can read it: %v %v", info, err)
}

func TestBackupNameStaysInFolder(t *testing.T) {
	data := t.TempDir()
	c := BackupsOf(data)
	require.NoError(t, os.MkdirAll(c.Dir, 0o700))
	outside := filepath.Join(data, "config-20261122-070000.000.jsonc")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(c.Dir, "config-20261122-070001.000.jsonc")))
	for _, name := range []string{"../config-20261122-070000.000.jsonc", outside, "config-20261122-070001.000.jsonc", "config-20261122-070002.000.jsonc", "", ".", "config-x.jsonc"} {
		if text, err := c.Read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q is read: %q %v", name, text, err)
		}
	}
	all, err := c.List()
	assert.Truef(t, err == nil && len(all) == 0, "%v %v", all, err)
	_, err = (Backups{}).Create("config.jsonc", nil, time.Now())
	assert.Error(t, err, "a copy without a folder")
	_, err = c.Create("config.sh", nil, time.Now())
	assert.Error(t, err, "a copy with a strange ending")
}
