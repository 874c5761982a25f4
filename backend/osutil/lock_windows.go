package osutil

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// openLock opens the lock file of a directory: a file in it, because directories cannot be locked.
func openLock(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, TempPrefix+"lock"), os.O_CREATE|os.O_RDWR, 0o600)
}

// TryLockFile reports whether it has acquired the exclusive lock of f, which no other open file holds
// then. It does not block. Closing f releases the lock.
func TryLockFile(f *os.File) (bool, error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("LockFileEx", err)
}
