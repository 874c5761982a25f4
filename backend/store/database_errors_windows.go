package store

import (
	"errors"

	"golang.org/x/sys/windows"
)

func noRoom(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// notAFolder reports whether a part of a path is a file.
func notAFolder(err error) bool { return errors.Is(err, windows.ERROR_DIRECTORY) }
