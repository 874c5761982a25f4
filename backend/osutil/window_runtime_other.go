//go:build !windows

package osutil

// CheckWindowRuntime returns nil: a window without its libraries exits with an error.
func CheckWindowRuntime() error { return nil }
