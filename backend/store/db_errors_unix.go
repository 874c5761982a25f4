//go:build !windows

package store

import (
	"errors"
	"syscall"
)

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isNotDir reports whether a component of a path is a file instead of a directory.
func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
