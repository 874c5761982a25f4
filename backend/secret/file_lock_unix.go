//go:build unix

package secret

import (
	"errors"
	"os"
	"syscall"
)

// tryLock acquires the lock file at path without blocking. held is true if another process holds
// it. The system releases the lock when the process ends.
func tryLock(path string) (unlock func(), held bool, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return func() { _ = f.Close() }, false, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, true, nil
	}
	return nil, false, os.NewSyscallError("flock", err)
}
