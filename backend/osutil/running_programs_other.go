//go:build !windows

package osutil

// RunningPrograms is for Windows.
func RunningPrograms() []string { return nil }
