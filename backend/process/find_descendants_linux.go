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
	isTarget    func(mark string) bool
	others      map[int]uint64 // start times of processes with another mark, by pid
	finalBefore uint64         // processes that started before this have completed their exec
}

// markSettleTime is the age from which the mark of a process is final. If a daemon dies between a
// fork and the exec, its child has the environment of the daemon for a short time.
const markSettleTime = 2 * ticks

func newDescendantFinder(guilty func(mark string) bool) *descendantFinder {
	self, _ := readProcess(os.Getpid())
	return &descendantFinder{isTarget: guilty, others: make(map[int]uint64), finalBefore: self.start - min(self.start, markSettleTime)}
}

// isKnownOther reports whether p is known to have another mark, which is final.
func (c *descendantFinder) isKnownOther(p processInfo) bool {
	start, known := c.others[p.pid]
	return known && start == p.start && start < c.finalBefore
}

// recordOther remembers that p has another mark, or none.
func (c *descendantFinder) recordOther(p processInfo) { c.others[p.pid] = p.start }

// run repeatedly signals the target processes for d, and reports whether there were any.
func (c *descendantFinder) run(d time.Duration, sig unix.Signal) (found bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		time.Sleep(d)
		return false
	}
	defer dir.Close()
	for end := time.Now().Add(d); ; time.Sleep(time.Millisecond) {
		names, _ := dir.Readdirnames(-1)
		present := make(map[int]bool, len(names))
		for i := len(names) - 1; i >= 0; i-- { // newest first
			pid, err := strconv.Atoi(names[i])
			if err != nil {
				continue
			}
			present[pid] = true
			if _, known := c.others[pid]; !known && c.signalIfTarget(pid, sig) {
				found = true
			}
		}
		for pid := range c.others {
			if !present[pid] {
				delete(c.others, pid)
			}
		}
		if !time.Now().Before(end) {
			return found
		}
		if _, err := dir.Seek(0, 0); err != nil {
			return found
		}
	}
}

// signalIfTarget signals pid if it is a target. During an exec the environment of a process is
// empty for a moment; such a process is checked again later. That of a zombie stays empty: a process
// that forks leaves hundreds of them per second, and reading all of them again would take so long
// that a target is never met alive.
func (c *descendantFinder) signalIfTarget(pid int, sig unix.Signal) (guilty bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	p, ok := readProcess(pid)
	if !ok || err == nil && len(raw) == 0 && !p.zombie {
		return false
	}
	if err == nil && sameUser(pid) && c.isTarget(environValue(raw, MarkVariable)) {
		signalProcess(p, sig)
		return !p.zombie
	}
	c.recordOther(p)
	return false
}
