package loopback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// HeldError reports that another daemon uses the data folder.
type HeldError struct {
	Dir     string
	Runtime Runtime // of that daemon; zero if it does not answer yet
}

func (e *HeldError) Error() string {
	if e.Runtime.URL == "" {
		return "data folder " + osutil.QuotePath(e.Dir) + " is in use by another instance of Drawbridge"
	}
	return "data folder " + osutil.QuotePath(e.Dir) + " is in use by the instance of Drawbridge at " + e.Runtime.URL
}

// DirLock is a lock that ensures that this process is the only daemon of a data folder. The
// operating system releases it when the process exits for any reason.
type DirLock struct{ unlock func() }

// Lock locks dataDir for this process and creates it if it does not exist. If another daemon
// holds the lock, the error is a *HeldError.
func Lock(dataDir string) (*DirLock, error) {
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create data folder: %w", err)
	}
	// IsDaemonRunning takes the lock briefly, so a single failure is not conclusive.
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	unlock, err := osutil.LockFile(ctx, filepath.Join(dataDir, "lock"))
	if errors.Is(err, osutil.ErrLocked) {
		rt, _ := ReadRuntime(dataDir)
		return nil, &HeldError{Dir: dataDir, Runtime: rt}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock data folder: %w", err)
	}
	return &DirLock{unlock}, nil
}

// Close releases the lock.
func (l *DirLock) Close() error {
	l.unlock()
	return nil
}

// IsDaemonRunning reports whether a daemon of dataDir is running.
func IsDaemonRunning(dataDir string) (bool, error) {
	f, err := os.OpenFile(filepath.Join(dataDir, "lock"), os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot check the lock of the data folder: %w", err)
	}
	defer func() { _ = f.Close() }()
	free, err := osutil.TryLockFile(f)
	return !free, err
}
