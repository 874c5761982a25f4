//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// openLock opens what the lock of a folder is taken on: the folder itself, so that no file
// is left behind.
func openLock(dir string) (*os.File, error) { return os.Open(dir) }

// tryLock reports whether it got the exclusive lock of f, which ends when f is closed.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, os.NewSyscallError("flock", err)
}
