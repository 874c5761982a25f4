//go:build !windows

package desktop

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Enabled reports whether the entry is there and starts this very program.
func (a Autostart) Enabled() (bool, error) {
	path, want, err := a.file()
	if err != nil {
		return false, err
	}
	have, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(have, want), err
}

// Set writes the entry or removes it. Doing twice what is done already is no error.
func (a Autostart) Set(on bool) error {
	path, content, err := a.file()
	if err != nil {
		return err
	}
	if !on {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err := a.check(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".drawbridge-*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err := errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
