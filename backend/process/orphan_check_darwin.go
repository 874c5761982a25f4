package process

import (
	"strconv"
	"strings"
)

// isLeftByDaemon reports whether the daemon left p behind. launchd has adopted such a process, but its
// mark contains the run.
func isLeftByDaemon(p processInfo, daemon int, _ map[int]processInfo) bool {
	parts := strings.Split(environVariable(p.pid, MarkVariable), "/")
	return len(parts) == 4 && strings.HasPrefix(parts[1], strconv.Itoa(daemon)+"-")
}
