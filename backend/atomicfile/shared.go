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

// ErrChanged means that a file no longer has the content that an edit was based on.
var ErrChanged = errors.New("the file was changed by another program at the same moment")

// lockWait limits how long Lock waits. An edit takes milliseconds.
const lockWait = 10 * time.Second

// Lock acquires the lock that all Drawbridge processes hold from reading the file path until its
// replacement. Editors do not use it; ReplaceUnchanged detects their writes. Lock waits until ctx
// is cancelled, at most 10 seconds. It creates the directory if necessary. The caller must call
// unlock.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	dir := filepath.Dir(resolveSymlinks(path))
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

// ReplaceUnchanged is Replace on the condition that the content of the file is still before.
// existed reports whether the file existed when it was read. If the content has changed,
// ReplaceUnchanged writes nothing and returns ErrChanged.
func ReplaceUnchanged(path string, before []byte, existed bool, data []byte, perm os.FileMode) error {
	path = resolveSymlinks(path)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	return writeWithCheck(path, data, perm, true, func() error {
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

// resolveSymlinks resolves symbolic links in path. It returns path if the file does not exist.
func resolveSymlinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
