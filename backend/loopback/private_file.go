package loopback

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watchedFile is a small private file that is read again when it has changed on disk. The owner's
// lock guards it.
type watchedFile struct {
	path     string
	lastInfo fs.FileInfo // at the last read; nil if the file did not exist
	wasRead  bool
}

// readIfChanged returns the content and true if the file has changed since the last call, which is
// also the case for a file that was removed; its data is nil.
func (w *watchedFile) readIfChanged() (data []byte, ok bool, err error) {
	info, err := os.Stat(w.path)
	if errors.Is(err, fs.ErrNotExist) {
		first := !w.wasRead || w.lastInfo != nil
		w.lastInfo, w.wasRead = nil, true
		return nil, first, nil
	}
	if err != nil {
		return nil, false, err
	}
	if w.lastInfo != nil && os.SameFile(w.lastInfo, info) && w.lastInfo.Size() == info.Size() && w.lastInfo.ModTime().Equal(info.ModTime()) {
		return nil, false, nil
	}
	if isAccessibleToOthers(info) {
		if err := os.Chmod(w.path, 0o600); err != nil {
			return nil, false, fmt.Errorf("cannot make %s private: %w", w.path, err)
		}
	}
	data, err = os.ReadFile(w.path)
	if err != nil {
		return nil, false, err
	}
	w.lastInfo, w.wasRead = info, true
	return data, true, nil
}

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
		return fmt.Errorf("cannot lock %s: another process holds it", path)
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
