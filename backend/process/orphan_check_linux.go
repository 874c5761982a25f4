package process

import "os"

// isOrphan reports whether p was left behind by the daemon: on Linux everything
// below us is.
func isOrphan(p processInfo, _ int, byPID map[int]processInfo) bool {
	return isDescendant(os.Getpid(), p, byPID)
}
