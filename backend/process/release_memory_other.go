//go:build !linux

package process

import "runtime/debug"

// ReleaseMemory returns free heap pages to the system.
func ReleaseMemory() { debug.FreeOSMemory() }
