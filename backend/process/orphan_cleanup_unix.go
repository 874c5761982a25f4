//go:build linux || darwin

package process

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// endOrphansOf ends the processes of other runs of this instance. A ledger entry is used only if
// the start time matches exactly. A process with the mark of another run is ended whatever its
// age, because a process that re-forks repeatedly is always young.
func endOrphansOf(instance, run string, entries []ledgerEntry) []Orphan {
	return endOrphansFrom(listProcesses, instance, run, entries)
}

// endOrphansFrom is endOrphansOf with the process list from list. A list can miss a process that
// only starts its successor and exits; descendantFinder finds those.
func endOrphansFrom(list func() []processInfo, instance, run string, entries []ledgerEntry) []Orphan {
	names := make(map[string]Orphan)
	isOtherRun := func(mark string) bool {
		return strings.HasPrefix(mark, instance+"/") && !strings.HasPrefix(mark, instance+"/"+run+"/")
	}
	finder := newDescendantFinder(isOtherRun)
	selectTargets := func(all []processInfo) (guilty []processInfo) {
		byPID := make(map[int]processInfo, len(all))
		for _, p := range all {
			byPID[p.pid] = p
		}
		self := byPID[os.Getpid()]
		spared := ancestors(self.pid, byPID)
		roots := make(map[int]string)
		for _, p := range all {
			if p.zombie || spared[p.pid] {
				continue
			}
			name, listed := "", false
			for _, e := range entries {
				if p.pid == e.PID && p.start == e.Start {
					name, listed = e.Name, true
				}
			}
			if !listed && finder.isKnownOther(p) {
				continue // the mark of a process does not change
			}
			if !sameUser(p.pid) {
				continue
			}
			mark, there := lookupEnviron(p.pid, MarkVariable)
			switch {
			case isOtherRun(mark):
				roots[p.pid] = mark[strings.LastIndexByte(mark, '/')+1:]
			case listed:
				roots[p.pid] = name
			case there:
				finder.recordOther(p)
			}
		}
		for _, p := range all {
			if p.zombie || spared[p.pid] {
				continue
			}
			for at, hops := p, 0; hops < 1000; hops++ {
				if name, ok := roots[at.pid]; ok {
					guilty = append(guilty, p)
					names[processKey(p)] = Orphan{PID: p.pid, Name: name}
					break
				}
				parent, ok := byPID[at.ppid]
				if !ok || spared[parent.pid] {
					break
				}
				at = parent
			}
		}
		return guilty
	}
	treeKiller{list: list, selectTargets: selectTargets, grace: 500 * time.Millisecond, finder: finder}.run()
	ended := make([]Orphan, 0, len(names))
	for _, s := range names {
		ended = append(ended, s)
	}
	return ended
}

// endRun ends the processes that carry the mark of this run, including those that re-fork
// repeatedly and may be in none of its process lists.
func (s *Spawner) endRun() {
	ours := func(mark string) bool { return strings.HasPrefix(mark, s.instance+"/"+s.run+"/") }
	self := os.Getpid()
	treeKiller{list: listDescendants, grace: leftoverGrace, finder: newDescendantFinder(ours), selectTargets: func(all []processInfo) (guilty []processInfo) {
		byPID := make(map[int]processInfo, len(all))
		for _, p := range all {
			byPID[p.pid] = p
		}
		for _, p := range all {
			switch {
			case p.pid == self || markedAreDescendants && !isDescendant(self, p, byPID):
			case p.zombie:
				if _, group := s.ownership(p.pid, p.pgid); group && p.ppid == self {
					reap(p.pid)
				}
			case ours(environVariable(p.pid, MarkVariable)):
				guilty = append(guilty, p)
			}
		}
		return guilty
	}}.run()
	s.reaper.reapOrphans()
}

// treeKiller ends processes that may fork while it runs.
type treeKiller struct {
	list          func() []processInfo
	selectTargets func([]processInfo) []processInfo
	grace         time.Duration // between TERM and KILL
	// limit limits the duration; 0 means killTimeout.
	limit time.Duration
	// noneLeft, if set, reports with certainty whether no process is left.
	noneLeft func() bool
	// finder, if set, finds the processes that process lists miss.
	finder *descendantFinder
}

// run ends the processes that selectTargets selects: TERM, and after the grace period KILL, until
// several process lists in a row contain none.
func (h treeKiller) run() {
	begun := time.Now()
	asked := make(map[string]bool)
	empty := 0
	for time.Since(begun) < orDefault(h.limit, killTimeout) {
		guilty := h.selectTargets(h.list())
		if h.noneLeft != nil && h.noneLeft() {
			return
		}
		if len(guilty) == 0 && !h.killRound(begun) {
			if empty++; empty == emptyListsNeeded {
				return
			}
			continue
		}
		empty = 0
		for _, p := range guilty {
			switch {
			case time.Since(begun) >= h.grace:
				signalProcess(p, unix.SIGKILL)
			case !asked[processKey(p)]:
				asked[processKey(p)] = true
				signalProcess(p, unix.SIGTERM)
				signalProcess(p, unix.SIGCONT)
			}
		}
		if !h.killRound(begun) {
			time.Sleep(pollInterval / 2)
		}
	}
}

func (h treeKiller) killRound(begun time.Time) (found bool) {
	switch {
	case h.finder == nil:
		return false
	case time.Since(begun) < h.grace:
		return h.finder.run(pollInterval/2, unix.SIGTERM)
	}
	return h.finder.run(pollInterval, unix.SIGKILL)
}

func ancestors(pid int, byPID map[int]processInfo) map[int]bool {
	up := make(map[int]bool)
	for !up[pid] && pid > 0 {
		up[pid] = true
		pid = byPID[pid].ppid
	}
	return up
}
