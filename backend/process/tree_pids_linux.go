package process

import (
	"os"
	"strconv"
	"strings"
)

// TreePIDs returns the process ids of several trees. Unlike Usage, it lists the processes of the
// machine once for all of them. Exited trees are empty.
func TreePIDs(list []*Process) [][]int {
	snap := snapshotDescendants()
	trees := make([][]int, len(list))
	for i, p := range list {
		select {
		case <-p.done:
			continue
		default:
		}
		for _, m := range p.tree.membersIn(snap) {
			trees[i] = append(trees[i], m.pid)
		}
	}
	return trees
}

// PSS returns the memory of a process in bytes, in which memory that it shares with others counts in
// parts; 0 if it is not known.
func PSS(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}
