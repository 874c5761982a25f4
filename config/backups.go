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

	"github.com/drawbridge-mcp/drawbridge/backend/atomicfile"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

// keptCopies is the number of backups of the configuration that are kept.
const keptCopies = 20

// Copies is the folder of backups of the main configuration file, named after the time at
// which they were made.
type Copies struct{ Dir string }

// Copy describes one backup.
type Copy struct {
	Name  string
	At    time.Time
	Bytes int64
}

const copyTime = "20060102-150405.000"

var copyName = lazyregexp.New(`^config-[0-9]{8}-[0-9]{6}\.[0-9]{3}(-[0-9]+)?\.(json|jsonc|yaml|yml)$`)

// CopiesOf returns the backups of a data folder.
func CopiesOf(data string) Copies { return Copies{filepath.Join(data, "backups")} }

// Keep writes a backup of text, named after now with the extension of file, and deletes the
// oldest ones. It never replaces a backup.
func (c Copies) Keep(file string, text []byte, now time.Time) (name string, err error) {
	if c.Dir == "" {
		return "", errors.New("no folder for configuration backups is set")
	}
	ending := strings.ToLower(filepath.Ext(file))
	for n := 1; n < 100; n++ {
		name = "config-" + now.UTC().Format(copyTime)
		if n > 1 {
			name += fmt.Sprintf("-%d", n)
		}
		if name += ending; !copyName().MatchString(name) {
			return "", fmt.Errorf("cannot back up %s: its extension is not .jsonc, .json or .yaml", filepath.Base(file))
		}
		if _, err := os.Lstat(filepath.Join(c.Dir, name)); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := atomicfile.Write(filepath.Join(c.Dir, name), text, 0o600); err != nil {
		return "", fmt.Errorf("cannot back up the configuration: %w", err)
	}
	all, err := c.List()
	if err != nil {
		return name, nil // the backup exists
	}
	for _, old := range all[min(len(all), keptCopies):] {
		_ = os.Remove(filepath.Join(c.Dir, old.Name))
	}
	return name, nil
}

// List returns the backups, newest first.
func (c Copies) List() ([]Copy, error) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the configuration backups: %w", err)
	}
	var all []Copy
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !copyName().MatchString(e.Name()) {
			continue
		}
		at, err := time.Parse(copyTime, e.Name()[len("config-"):len("config-")+len(copyTime)])
		if err == nil {
			all = append(all, Copy{e.Name(), at, info.Size()})
		}
	}
	slices.SortFunc(all, func(a, b Copy) int { return strings.Compare(b.Name, a.Name) })
	return all, nil
}

// maxCopy is larger than any valid configuration, in bytes.
const maxCopy = 8 << 20

// Read returns the text of a backup, or fs.ErrNotExist if there is none with that name.
func (c Copies) Read(name string) ([]byte, error) {
	if !copyName().MatchString(name) || c.Dir == "" {
		return nil, fs.ErrNotExist
	}
	path := filepath.Join(c.Dir, name)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > maxCopy:
		return nil, fs.ErrNotExist
	}
	return os.ReadFile(path)
}

// ReplaceFile replaces a configuration file under the lock between our processes. It keeps a symbolic
// link and the permissions of an existing file.
func ReplaceFile(ctx context.Context, file string, text []byte) error {
	unlock, err := atomicfile.Lock(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	return atomicfile.Replace(file, text, 0o600)
}
