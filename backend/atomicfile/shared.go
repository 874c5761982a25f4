package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// ErrChanged says that a file no longer holds what an edit of it began with.
var ErrChanged = errors.New("the file was changed by another program at the same moment")

// lockWait bounds how long Lock waits: an edit takes milliseconds.
const lockWait = 10 * time.Second

// Lock takes the lock that every writer of ours, in whichever process, holds from reading
// the file path until its replacement. Editors do not know it: ReplaceUnchanged notices
// them. Lock waits until ctx ends, at most ten seconds; the folder is made if it is missing.
// The caller must call unlock.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	dir := filepath.Dir(target(path))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		locked, err := tryLock(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err == nil {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = fmt.Errorf("another program is writing %s: %w", path, ctx.Err())
			}
		}
		f.Close()
		return nil, err
	}
}

// ReplaceUnchanged is Replace for a file that still holds before; existed tells whether it
// was there at all. It returns ErrChanged, and writes nothing, when the file holds something
// else by now.
func ReplaceUnchanged(path string, before []byte, existed bool, data []byte, perm os.FileMode) error {
	path = target(path)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	return writeIf(path, data, perm, true, func() error {
		now, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !existed:
			return nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil || !existed || !bytes.Equal(now, before):
			return ErrChanged
		}
		return nil
	})
}

// target is what path leads to where it is a symbolic link.
func target(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
