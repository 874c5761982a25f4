//go:build !linux

package process

// TreePIDs is implemented on Linux only: nothing else samples processes.
func TreePIDs([]*Process) [][]int { return nil }

// PSS is implemented on Linux only.
func PSS(int) int64 { return 0 }
