//go:build unix

package launch

import (
	"io/fs"
	"syscall"
)

// identity returns the inode of a file, and when it was last changed in any way, in nanoseconds, which no
// program can set.
func identity(info fs.FileInfo) (inode uint64, changed int64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return s.Ino, changeTime(s)
	}
	return 0, 0
}
