//go:build unix

package osutil

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens the lock file of a directory: the directory itself, so that no file is left
// behind.
func openLock(dir string) (*os.File, error) { return os.Open(dir) }

// TryLockFile reports whether it has acquired the exclusive lock of f, which no other open file holds
// then. It does not block. Closing f releases the lock.
func TryLockFile(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}
