//go:build !linux

package shim

import "os"

// polled returns f unchanged.
func polled(f *os.File) (in *os.File, restore func()) { return f, func() {} }
