//go:build smoke

package smoke

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type process struct {
	pid, parent int
	command     string
}

// processes lists the running processes, from /proc if it exists and from ps otherwise. It omits
// zombies.
func processes(t *testing.T) map[int]process {
	t.Helper()
	all := map[int]process{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		stat, err := os.ReadFile(folder + "/stat")
		if err != nil {
			continue // the process has exited meanwhile
		}
		command, _ := os.ReadFile(folder + "/cmdline")
		// The second field is the name in parentheses, which may contain spaces; state and parent
		// follow it.
		field := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		addProcess(all, filepath.Base(folder), field[1], field[0], string(bytes.ReplaceAll(command, []byte{0}, []byte{' '})))
	}
	if len(folders) > 0 {
		return all
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=,command=").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if field := strings.Fields(line); len(field) > 3 {
			addProcess(all, field[0], field[1], field[2], strings.Join(field[3:], " "))
		}
	}
	return all
}

func addProcess(all map[int]process, pid, parent, state, command string) {
	p := process{command: command}
	p.pid, _ = strconv.Atoi(pid)
	p.parent, _ = strconv.Atoi(parent)
	if !strings.HasPrefix(state, "Z") {
		all[p.pid] = p
	}
}

// descendants returns pid and its descendants.
func descendants(t *testing.T, pid int) []process {
	t.Helper()
	all := processes(t)
	family := []process{all[pid]}
	for i := 0; i < len(family); i++ {
		for _, p := range all {
			if p.parent == family[i].pid {
				family = append(family, p)
			}
		}
	}
	return family
}
