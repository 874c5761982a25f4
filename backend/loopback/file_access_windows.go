package loopback

import "io/fs"

// The data folder is in the user's profile, whose access control list excludes other users.
func isAccessibleToOthers(fs.FileInfo) bool { return false }
