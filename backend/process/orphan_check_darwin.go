package process

import (
	"strconv"
	"strings"
)

// isOrphan reports whether p was left behind by the daemon: launchd has adopted
// it, but its mark names the run.
func isOrphan(p processInfo, daemon int, _ map[int]processInfo) bool {
	parts := strings.Split(variable(p.pid, MarkVariable), "/")
	return len(parts) == 4 && strings.HasPrefix(parts[1], strconv.Itoa(daemon)+"-")
}
