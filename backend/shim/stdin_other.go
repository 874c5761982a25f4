//go:build !linux

package shim

import "os"

// polled returns f as it is.
func polled(f *os.File) (in *os.File, restore func()) { return f, func() {} }
