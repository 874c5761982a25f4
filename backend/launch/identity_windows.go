package launch

import (
	"io/fs"
	"syscall"
)

// identity returns when a file was created: Windows tells neither an inode nor a time of the last change
// with the entries of a folder.
func identity(info fs.FileInfo) (inode uint64, changed int64) {
	if s, ok := info.Sys().(*syscall.Win32FileAttributeData); ok {
		return 0, s.CreationTime.Nanoseconds()
	}
	return 0, 0
}
