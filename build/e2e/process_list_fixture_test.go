//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// process is a process of this machine; its start time distinguishes it from a later one with the
// same id.
type process struct {
	pid, parent    int
	started, state string
	command        string
}

// processes reads all processes from /proc, the newest first, and repeats that for processes that
// started meanwhile. Otherwise a process that lives for 50 ms could be missed on a busy machine.
func processes() map[int]process {
	found, met := map[int]process{}, map[string]bool{}
	for range 4 {
		dirs, _ := os.ReadDir("/proc")
		news := false
		slices.SortFunc(dirs, func(a, b os.DirEntry) int { // the higher id first
			return cmp.Or(len(b.Name())-len(a.Name()), strings.Compare(b.Name(), a.Name()))
		})
		for _, dir := range dirs {
			pid, err := strconv.Atoi(dir.Name())
			if err != nil || met[dir.Name()] {
				continue
			}
			met[dir.Name()], news = true, true
			if p, ok := processOf(pid); ok {
				found[pid] = p
			}
		}
		if !news {
			break
		}
	}
	return found
}

func processOf(pid int) (process, bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name is in parentheses and may contain any character.
	_, rest, ok := strings.Cut(string(stat), "(")
	end := strings.LastIndex(rest, ")")
	if !ok || end < 0 {
		return process{}, false
	}
	fields := strings.Fields(rest[end+1:])
	parent, _ := strconv.Atoi(fields[1])
	line, _ := os.ReadFile(dir + "/cmdline")
	return process{pid, parent, fields[19], fields[0], strings.ReplaceAll(string(line), "\x00", " ")}, true
}

// memory returns the sum of fields in a file of /proc in bytes, or 0 if the process has ended.
func (p process) memory(t testing.TB, file string, fields ...string) (bytes int) {
	t.Helper()
	src, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.pid, file))
	require.False(t, err != nil && !errors.Is(err, fs.ErrNotExist), err)
	for line := range strings.Lines(string(src)) {
		name, size, _ := strings.Cut(line, ":")
		if kb := 0; slices.Contains(fields, name) {
			fmt.Sscan(size, &kb)
			bytes += kb << 10
		}
	}
	return bytes
}

// descendants returns pid and all its descendants.
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

// alive names the processes of list that still run; "" if none does.
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
