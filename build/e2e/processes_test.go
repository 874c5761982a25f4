//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// process is one process of this machine; the time of its start tells it from a later
// one with the same number.
type process struct {
	pid, parent    int
	started, state string
	command        string
}

// processes reads them all from /proc.
func processes() map[int]process {
	found := map[int]process{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil {
			continue
		}
		// The name is in parentheses and may hold anything.
		head, rest, ok := strings.Cut(string(stat), "(")
		end := strings.LastIndex(rest, ")")
		if !ok || end < 0 {
			continue
		}
		fields := strings.Fields(rest[end+1:])
		pid, _ := strconv.Atoi(strings.TrimSpace(head))
		parent, _ := strconv.Atoi(fields[1])
		line, _ := os.ReadFile(dir + "/cmdline")
		found[pid] = process{pid, parent, fields[19], fields[0], strings.ReplaceAll(string(line), "\x00", " ")}
	}
	return found
}

// descendants lists everything below pid, and pid itself.
func descendants(pid int) []process {
	all := processes()
	children := map[int][]int{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	var list []process
	var walk func(int)
	walk = func(pid int) {
		list = append(list, all[pid])
		for _, child := range children[pid] {
			walk(child)
		}
	}
	walk(pid)
	return list
}

// alive says which of them still run; "" when none does.
func alive(list []process) string {
	now := processes()
	var left []string
	for _, was := range list {
		if p, ok := now[was.pid]; ok && p.started == was.started && p.state != "Z" {
			left = append(left, fmt.Sprintf("%d %s", p.pid, p.command))
		}
	}
	if len(left) == 0 {
		return ""
	}
	return "left behind: " + strings.Join(left, "; ")
}
