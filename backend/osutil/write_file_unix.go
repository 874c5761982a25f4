//go:build unix

package osutil

import (
	"os"
	"syscall"
)

// keepOwner gives f the owner and, if permitted, the group of the file that it replaces, so
// that a write by another user, such as root, does not change the ownership.
func keepOwner(f *os.File, was os.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	to, ok := was.Sys().(*syscall.Stat_t)
	is, known := now.Sys().(*syscall.Stat_t)
	if !ok || !known || is.Uid == to.Uid && is.Gid == to.Gid {
		return nil
	}
	if err := f.Chown(int(to.Uid), int(to.Gid)); err != nil && is.Uid != to.Uid {
		return err
	}
	return nil
}

// inUse reports false: here a file can be opened and replaced while other processes have it open.
func inUse(error) bool { return false }

func openShared(path string) (*os.File, error) { return os.Open(path) }
