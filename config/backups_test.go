package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestLastConfigBackupsAreKept(t *testing.T) {
	c := BackupsOf(t.TempDir())
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	first, err := c.Create("/x/config.jsonc", []byte("{}"), at)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Create("/x/config.jsonc", []byte(`{"a":1}`), at)
	if err != nil || again == first {
		t.Fatalf("two copies of one moment are one: %q %v", again, err)
	}
	if text, err := c.Read(first); err != nil || string(text) != "{}" {
		t.Errorf("%q %v", text, err)
	}
	for n := range maxBackups + 5 {
		if _, err := c.Create("config.yaml", []byte("a: 1"), at.Add(time.Duration(n+1)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := c.List()
	if err != nil || len(all) != maxBackups || !all[0].At.Equal(at.Add((maxBackups+5)*time.Second)) {
		t.Errorf("%d copies, the newest of %v: %v", len(all), all[0].At, err)
	}
	if info, err := os.Stat(filepath.Join(c.Dir, all[0].Name)); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("others can read it: %v %v", info, err)
	}
}

func TestBackupNameStaysInFolder(t *testing.T) {
	data := t.TempDir()
	c := BackupsOf(data)
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(data, "config-20261122-070000.000.jsonc")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(c.Dir, "config-20261122-070001.000.jsonc")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../config-20261122-070000.000.jsonc", outside, "config-20261122-070001.000.jsonc", "config-20261122-070002.000.jsonc", "", ".", "config-x.jsonc"} {
		if text, err := c.Read(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q is read: %q %v", name, text, err)
		}
	}
	if all, err := c.List(); err != nil || len(all) != 0 {
		t.Errorf("%v %v", all, err)
	}
	if _, err := (Backups{}).Create("config.jsonc", nil, time.Now()); err == nil {
		t.Error("a copy without a folder")
	}
	if _, err := c.Create("config.sh", nil, time.Now()); err == nil {
		t.Error("a copy with a strange ending")
	}
}
