package process

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// descendantFinder finds processes by their mark as soon as they are born. A look at the whole
// machine, and at the environment of all that is on it, may take longer than a process
// lives that only starts its successor; chase looks at what is new, and acts at once.
type descendantFinder struct {
	guilty   func(mark string) bool
	innocent map[int]uint64 // when it began, by pid
	settled  uint64         // what began before that is not a fork that has yet to become its program
}

// settling is how long before us a process must have begun for its mark to be believed
// once and for all. A daemon may have died between a fork and the exec that follows: its
// child has the daemon's environment for some moments more.
const settling = 2 * ticks

func newDescendantFinder(guilty func(mark string) bool) *descendantFinder {
	self, _ := readProcess(os.Getpid())
	return &descendantFinder{guilty: guilty, innocent: make(map[int]uint64), settled: self.start - min(self.start, settling)}
}

// knows reports whether the mark of p was read before, is not guilty and will stay so.
func (c *descendantFinder) knows(p processInfo) bool {
	start, known := c.innocent[p.pid]
	return known && start == p.start && start < c.settled
}

// spare remembers that p has another mark, or none.
func (c *descendantFinder) spare(p processInfo) { c.innocent[p.pid] = p.start }

// run sends sig to what is guilty, again and again for d, and reports whether there
// was any.
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
		for i := len(names) - 1; i >= 0; i-- { // the youngest first
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

// judge signals pid when it is guilty. While a process becomes another program its
// environment is empty for a moment: then nothing is concluded.
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
