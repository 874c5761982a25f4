package clientconf

import "os"

// keepOwner has nothing to do: a file belongs to who made it, and access is inherited.
func keepOwner(*os.File, os.FileInfo) error { return nil }
