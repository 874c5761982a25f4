//go:build !linux

package shim

import "os"

// pollable returns f unchanged.
func pollable(f *os.File) (in *os.File, restore func()) { return f, func() {} }
