//go:build !windows

package osutil

import "path/filepath"

// RealPath returns the path of an existing file with all links resolved.
func RealPath(path string) (string, error) { return filepath.EvalSymlinks(path) }
