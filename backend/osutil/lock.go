package osutil

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrLocked means that another process holds a lock.
var ErrLocked = errors.New("another process holds the lock")

// lockWait limits how long LockBeside waits. An edit takes milliseconds.
const lockWait = 10 * time.Second

// LockBeside acquires the lock that all Drawbridge processes hold from reading the file path until its
// replacement. Editors do not use it; ReplaceUnchangedFile detects their writes. LockBeside waits until ctx
// is cancelled, at most 10 seconds. It creates the directory if necessary. The caller must call
// unlock.
func LockBeside(ctx context.Context, path string) (unlock func(), err error) {
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
	unlock, err = waitForLock(ctx, f)
	if errors.Is(err, ErrLocked) {
		err = fmt.Errorf("another program is writing %s: %w", path, ctx.Err())
	}
	return unlock, err
}

// LockFile acquires the lock of the lock file at path, which it creates if necessary. It waits
// until ctx is done; then the error wraps ErrLocked. The caller must call unlock. The operating
// system releases the lock when the process exits for any reason. The file is never removed:
// otherwise two processes could lock two different files of the same name.
func LockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return waitForLock(ctx, f)
}

// waitForLock acquires the lock of f, or closes f.
func waitForLock(ctx context.Context, f *os.File) (unlock func(), err error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		locked, err := TryLockFile(f)
		if locked {
			return func() { f.Close() }, nil
		}
		if err != nil {
			err = &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		} else {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
				err = fmt.Errorf("cannot lock %s: %w", f.Name(), ErrLocked)
			}
		}
		f.Close()
		return nil, err
	}
}

// ErrChanged means that a file no longer has the content that an edit was based on.
var ErrChanged = errors.New("another program changed the file at the same time")

// ErrReadOnly means that the user does not permit writing to a file.
var ErrReadOnly = errors.New("the file is read-only")

// ReplaceUnchangedFile replaces the content of a file that other programs write too, on the condition
// that it is still before. existed reports whether the file existed when it was read. Otherwise
// ReplaceUnchangedFile writes nothing and returns ErrChanged.
//
// It follows a symbolic link. An existing file keeps its mode and owner, and a read-only one is
// refused with ErrReadOnly. A new file is readable only by the user. The directory is synced, so
// that the file survives a power failure.
func ReplaceUnchangedFile(path string, before []byte, existed bool, data []byte) error {
	path = resolveSymlinks(path)
	mode := os.FileMode(0o600)
	info, err := os.Stat(path)
	if err == nil {
		if mode = info.Mode().Perm(); !isWritable(path, mode) {
			return ErrReadOnly
		}
	}
	dir := filepath.Dir(path)
	removeStaleTemps(dir)
	err = replace(path, data, true, func(f *os.File) error {
		if info != nil {
			if err := keepOwner(f, info); err != nil {
				return err
			}
		}
		return f.Chmod(mode)
	}, func() error { return checkUnchanged(path, before, existed) })
	if err != nil {
		return err
	}
	return syncDir(dir)
}

func checkUnchanged(path string, before []byte, existed bool) error {
	now, err := ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !existed:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil || !existed || !bytes.Equal(now, before):
		return ErrChanged
	}
	return nil
}

// isWritable reports whether an existing file may be written. The directory may permit replacing a
// read-only file, but that would override the user's decision.
func isWritable(path string, mode os.FileMode) bool {
	if mode&0o200 == 0 {
		return false
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return !errors.Is(err, os.ErrPermission) && !errors.Is(err, syscall.EROFS)
}

// removeStaleTemps deletes the temporary files of writers that were killed.
func removeStaleTemps(dir string) {
	temps, _ := filepath.Glob(filepath.Join(dir, TempPrefix+"*.tmp"))
	for _, temp := range temps {
		if info, err := os.Lstat(temp); err == nil && time.Since(info.ModTime()) > time.Minute {
			os.Remove(temp)
		}
	}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && os.PathSeparator == '/' {
		return err
	}
	return nil
}

// resolveSymlinks resolves symbolic links in path. It returns path if the file does not exist.
func resolveSymlinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
