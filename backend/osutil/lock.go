package osutil

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
		if err == nil {
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
