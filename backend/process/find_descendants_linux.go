package process

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// descendantFinder finds new processes by their mark. Listing all processes and reading their
// environments can take longer than the lifetime of a process that only starts its successor;
// descendantFinder reads only new processes, and signals them immediately.
type descendantFinder struct {
	guilty   func(mark string) bool
	innocent map[int]uint64 // start times of processes with another mark, by pid
	settled  uint64         // processes that started before this have completed their exec
}

// settling is the age from which the mark of a process is final. If a daemon dies between a fork
// and the exec, its child has the environment of the daemon for a short time.
const settling = 2 * ticks

func newDescendantFinder(guilty func(mark string) bool) *descendantFinder {
	self, _ := readProcess(os.Getpid())
	return &descendantFinder{guilty: guilty, innocent: make(map[int]uint64), settled: self.start - min(self.start, settling)}
}

// knows reports whether p is known to have another mark, which is final.
func (c *descendantFinder) knows(p processInfo) bool {
	start, known := c.innocent[p.pid]
	return known && start == p.start && start < c.settled
}

// spare remembers that p has another mark, or none.
func (c *descendantFinder) spare(p processInfo) { c.innocent[p.pid] = p.start }

// run repeatedly signals the guilty processes for d, and reports whether there were any.
func (c *descendantFinder) run(d time.Duration, sig unix.Signal) (met bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		time.Sleep(d)
		return false
	}
	defer dir.Close()
	for end := time.Now().Add(d); ; time.Sleep(time.Millisecond) {
		names, _ := dir.Readdirnames(-1)
		there := make(map[int]bool, len(names))
		for i := len(names) - 1; i >= 0; i-- { // newest first
			pid, err := strconv.Atoi(names[i])
			if err != nil {
				continue
			}
			there[pid] = true
			if _, known := c.innocent[pid]; !known && c.judge(pid, sig) {
				met = true
			}
		}
		for pid := range c.innocent {
			if !there[pid] {
				delete(c.innocent, pid)
			}
		}
		if !time.Now().Before(end) {
			return met
		}
		if _, err := dir.Seek(0, 0); err != nil {
			return met
		}
	}
}

// judge signals pid if it is guilty. During an exec the environment of a process is empty for a
// moment; such a process is checked again later.
func (c *descendantFinder) judge(pid int, sig unix.Signal) (guilty bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err == nil && len(raw) == 0 {
		return false
	}
	p, ok := readProcess(pid)
	if !ok {
		return false
	}
	if err == nil && sameUser(pid) && c.guilty(valueIn(raw, MarkVariable)) {
		signalProcess(p, sig)
		return !p.zombie
	}
	c.spare(p)
	return false
}
