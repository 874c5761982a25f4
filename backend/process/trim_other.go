//go:build !linux

package process

import "runtime/debug"

// Trim gives back the heap's free pages.
func Trim() { debug.FreeOSMemory() }
