//go:build !linux

package process

import "runtime/debug"

// ReleaseMemory gives back the heap's free pages.
func ReleaseMemory() { debug.FreeOSMemory() }
