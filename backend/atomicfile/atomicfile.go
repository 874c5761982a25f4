package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// Prefix begins the names of files that Write has not finished. They have no other
// purpose: who finds an old one may remove it.
const Prefix = ".drawbridge-"

// Write puts data in the place of path with the permissions perm. Folders that are
// missing are made for the user alone. The data is on the disk before the name is.
func Write(path string, data []byte, perm os.FileMode) error { return write(path, data, perm, true) }

// WriteFleeting is Write for a file that means nothing once the machine has lost its
// power: it does not wait for the disk.
func WriteFleeting(path string, data []byte, perm os.FileMode) error {
	return write(path, data, perm, false)
}

func write(path string, data []byte, perm os.FileMode, lasting bool) error {
	return writeIf(path, data, perm, lasting, func() error { return nil })
}

// writeIf is write that asks ready right before the file takes its place, and gives up with its error.
func writeIf(path string, data []byte, perm os.FileMode, lasting bool, ready func() error) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, Prefix+"*.tmp") // 0600 by itself
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil && perm != 0o600 {
		err = f.Chmod(perm)
	}
	if err == nil && lasting {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = ready(); err != nil {
		return err
	}
	return Rename(f.Name(), path)
}

// Replace is Write for a file that the user keeps too: a symbolic link stays, and what it
// points to is replaced; the file keeps its permissions. A new one gets perm.
func Replace(path string, data []byte, perm os.FileMode) error {
	path = target(path)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	return Write(path, data, perm)
}

// Rename is os.Rename, tried for a second on Windows, where a file that another
// process has open cannot be replaced.
func Rename(from, to string) error {
	var err error
	for wait := 10 * time.Millisecond; wait < time.Second; wait *= 2 {
		if err = os.Rename(from, to); err == nil || !errors.Is(err, os.ErrPermission) || os.PathSeparator == '/' {
			return err
		}
		time.Sleep(wait) // the only signal that a foreign handle was closed is a rename that works
	}
	return err
}
