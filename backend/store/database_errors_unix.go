//go:build !windows

package store

import (
	"errors"
	"syscall"
)

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// notAFolder reports whether a component of a path is a file instead of a directory.
func notAFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
