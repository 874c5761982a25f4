package process

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
