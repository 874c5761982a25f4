package process

import "os"

// isLeftByDaemon reports whether the daemon left p behind. On Linux, these are all descendants of this
// process.
func isLeftByDaemon(p processInfo, _ int, byPID map[int]processInfo) bool {
	return isDescendant(os.Getpid(), p, byPID)
}
