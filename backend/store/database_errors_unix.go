//go:build !windows

package store

import (
	"errors"
	"syscall"
)

func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// notAFolder reports whether a part of a path is a file.
func notAFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
