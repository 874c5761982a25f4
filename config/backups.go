package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// maxBackups is the number of backups of the configuration that are kept.
const maxBackups = 20

// Backups is the folder of backups of the main configuration file, named after the time at
// which they were made.
type Backups struct{ Dir string }

// Backup describes one backup.
type Backup struct {
	Name  string
	At    time.Time
	Bytes int64
}

const backupTimeLayout = "20060102-150405.000"

var backupName = osutil.LazyRegexp(`^config-[0-9]{8}-[0-9]{6}\.[0-9]{3}(-[0-9]+)?\.(json|jsonc|yaml|yml)$`)

// BackupsOf returns the backups of a data folder.
func BackupsOf(data string) Backups { return Backups{filepath.Join(data, "backups")} }

// Create writes a backup of text, named after now with the extension of file, and deletes the
// oldest ones. It never replaces a backup.
func (c Backups) Create(file string, text []byte, now time.Time) (name string, err error) {
	if c.Dir == "" {
		return "", errors.New("no folder for configuration backups is set")
	}
	ending := strings.ToLower(filepath.Ext(file))
	for n := 1; n < 100; n++ {
		name = "config-" + now.UTC().Format(backupTimeLayout)
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		if name += ending; !backupName().MatchString(name) {
			return "", fmt.Errorf("cannot back up %s: its extension is not .jsonc, .json or .yaml", filepath.Base(file))
		}
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := osutil.WriteFile(filepath.Join(c.Dir, name), text, 0o600); err != nil {
		return "", fmt.Errorf("cannot back up the configuration: %w", err)
	}
	all, err := c.List()
	if err != nil {
		return name, nil // the backup exists
	}
	for _, old := range all[min(len(all), maxBackups):] {
		_ = os.Remove(filepath.Join(c.Dir, old.Name))
	}
	return name, nil
}

// List returns the backups, newest first.
func (c Backups) List() ([]Backup, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the configuration backups: %w", err)
	}
	var all []Backup
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !backupName().MatchString(e.Name()) {
			continue
		}
		at, err := time.Parse(backupTimeLayout, e.Name()[len("config-"):len("config-")+len(backupTimeLayout)])
		if err == nil {
			all = append(all, Backup{e.Name(), at, info.Size()})
		}
	}
	slices.SortFunc(all, func(a, b Backup) int { return strings.Compare(b.Name, a.Name) })
	return all, nil
}

// maxBackupSize is larger than any valid configuration, in bytes.
const maxBackupSize = 8 << 20

// Read returns the text of a backup, or fs.ErrNotExist if there is none with that name.
func (c Backups) Read(name string) ([]byte, error) {
	if !backupName().MatchString(name) || c.Dir == "" {
		return nil, fs.ErrNotExist
	}
	path := filepath.Join(c.Dir, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxBackupSize:
		return nil, fs.ErrNotExist
	}
	return osutil.ReadFile(path)
}

// ReplaceFile replaces the content of a configuration file under the lock between our processes, on
// the condition that it is still before. existed reports whether the file existed when it was read.
// If another program changed the file since, nothing is written and the error has
// core.CodeConflict. A symbolic link and the permissions of an existing file are preserved, and
// a read-only file is refused.
func ReplaceFile(ctx context.Context, file string, before []byte, existed bool, text []byte) error {
	unlock, err := osutil.LockBeside(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	err = osutil.ReplaceUnchangedFile(file, before, existed, text)
	if errors.Is(err, osutil.ErrChanged) {
		return &core.Error{Code: core.CodeConflict, Message: "cannot write " + file, Hint: "The configuration was not changed. Try again.", Cause: err}
	}
	return err
}
