//go:build !windows

package loopback

import "io/fs"

func isAccessibleToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
