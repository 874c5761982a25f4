//go:build linux || darwin

package process

import (
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// reaper reaps zombies that became our children. A zombie in the process group of one of our
// children is certainly adopted. Any other may be the child of an os/exec.Cmd whose Wait is in
// progress, so it is reaped only after reapAfter. Code that starts children elsewhere must wait
// for them.
type reaper struct {
	owns      func(pid, pgid int) (direct, group bool)
	firstSeen map[string]time.Time // when an unknown zombie was first seen
}

// reapAfter is how long an unknown zombie is left for the Wait of its own parent.
const reapAfter = 5 * time.Second

const reapDelay = 250 * time.Millisecond

func newReaper(owns func(pid, pgid int) (direct, group bool)) *reaper {
	return &reaper{owns: owns, firstSeen: make(map[string]time.Time)}
}

func (r *reaper) run(quit <-chan struct{}) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	timer := time.NewTimer(0)
	defer timer.Stop()
	due := time.Now()
	for {
		select {
		case <-quit:
			return
		case <-died:
			// One pass reaps a whole tree that exits. A pending pass is not postponed; otherwise
			// a server whose children exit continuously would prevent every pass.
			if soon := time.Now().Add(reapDelay); due.IsZero() || soon.Before(due) {
				due = soon
				timer.Reset(reapDelay)
			}
		case <-timer.C:
			due = time.Time{}
			if r.reapOrphans() {
				due = time.Now().Add(reapAfter)
				timer.Reset(reapAfter)
			}
		}
	}
}

// reapOrphans reaps adopted zombies, and unknown ones after reapAfter. It reports whether unknown
// zombies remain.
func (r *reaper) reapOrphans() (remain bool) {
	self := os.Getpid()
	unknown := make(map[string]time.Time)
	for _, p := range listDescendants() {
		if !p.zombie || p.ppid != self {
			continue
		}
		direct, group := r.owns(p.pid, p.pgid)
		first, seen := r.firstSeen[processKey(p)]
		switch {
		case direct:
		case group, seen && time.Since(first) >= reapAfter:
			reap(p.pid)
		case seen:
			unknown[processKey(p)] = first
		default:
			unknown[processKey(p)] = time.Now()
		}
	}
	r.firstSeen = unknown
	return len(unknown) > 0
}

func processKey(p processInfo) string {
	return strconv.Itoa(p.pid) + "@" + strconv.FormatUint(p.start, 10)
}
