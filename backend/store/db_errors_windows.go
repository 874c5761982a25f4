package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// isNotDir reports whether a component of a path is a file instead of a directory.
func isNotDir(err error) bool { return errors.Is(err, windows.ERROR_DIRECTORY) }
