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
