//go:build !windows

package loopback

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks f unless another open file holds the lock. Closing f unlocks it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, os.NewSyscallError("flock", err)
		}
	}
}
