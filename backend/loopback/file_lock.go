package loopback

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// withFileLock runs f while holding an exclusive lock of path against other processes.
func withFileLock(path string, f func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // also unlocks
	if ok, err := lockWithin(file, 5*time.Second); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("cannot lock %s: another process holds the lock", path)
	}
	return f()
}

// lockWithin tries to lock f for at most timeout.
func lockWithin(f *os.File, timeout time.Duration) (bool, error) {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	retry := time.NewTicker(10 * time.Millisecond)
	defer retry.Stop()
	for {
		if ok, err := tryLock(f); ok || err != nil {
			return ok, err
		}
		select {
		case <-retry.C:
		case <-deadline.C:
			return false, nil
		}
	}
}
