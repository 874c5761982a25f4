package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

func noRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// notAFolder reports whether a component of a path is a file instead of a directory.
func notAFolder(err error) bool { return errors.Is(err, windows.ERROR_DIRECTORY) }
