package osutil

import "os"

// keepOwner is a no-op: a file belongs to its creator, and access rights are inherited.
func keepOwner(*os.File, os.FileInfo) error { return nil }
