//go:build !windows

package osutil

import "bytes"

// AttachConsole is for Windows. It returns nil.
func AttachConsole() *bytes.Buffer { return nil }

// ShowError is for Windows.
func ShowError(string, string) {}
