//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens the lock file of a directory: the directory itself, so that no file is left
// behind.
func openLock(dir string) (*os.File, error) { return os.Open(dir) }

// tryLock reports whether it has acquired the exclusive lock of f. It does not block. Closing f
// releases the lock.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("flock", err)
}
