package process

import "os"

// isOrphan reports whether the daemon left p behind. On Linux, these are all descendants of this
// process.
func isOrphan(p processInfo, _ int, byPID map[int]processInfo) bool {
	return isDescendant(os.Getpid(), p, byPID)
}
