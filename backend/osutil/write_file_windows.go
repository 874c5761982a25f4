package osutil

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// keepOwner is a no-op: a file belongs to its creator, and access rights are inherited.
func keepOwner(*os.File, os.FileInfo) error { return nil }

// inUse reports whether err may be that another process has the file open. Replacing an open file is
// denied, as is opening one that is being deleted.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// openShared opens a file as os.Open does, but others may remove and rename it.
func openShared(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err == nil {
		const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
		if handle, err := windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING, 0, 0); err == nil {
			return os.NewFile(uintptr(handle), path), nil
		}
	}
	return os.Open(path) // for its error, and for a folder
}
