package clientconf

import (
	"os"
	"syscall"
)

// ownedByUs reports whether a file in /proc belongs to the current user.
func ownedByUs(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
