//go:build !windows

package desktop

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Enabled reports whether the entry exists and starts this program with these arguments.
func (a Autostart) Enabled() (bool, error) {
	path, want, err := a.file()
	if err != nil {
		return false, err
	}
	have, err := osutil.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return bytes.Equal(have, want), err
}

// Set writes or removes the entry. It is idempotent.
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
	return osutil.WriteFile(path, content, 0o644)
}
