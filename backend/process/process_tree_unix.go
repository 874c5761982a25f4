//go:build linux || darwin

package process

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// tree finds all that belongs to one child: its group and session, its
// descendants, whatever carries its mark, and whatever was seen to belong to it
// before it hid.
type tree struct {
	mark  string
	pid   int
	start uint64

	mu   sync.Mutex     // guards seen
	seen map[int]uint64 // start by pid
}

func newTree(mark string) (*tree, error) {
	return &tree{mark: mark, seen: make(map[int]uint64)}, nil
}

func (t *tree) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = attributes() }

func (t *tree) adopt(child *os.Process) error {
	t.pid = child.Pid
	if p, ok := readProcess(t.pid); ok {
		t.start = p.start
	}
	return nil
}

func (t *tree) startedAt() uint64 { return t.start }
func (t *tree) release()          {}

// note remembers who belongs to the tree now.
func (t *tree) note() { t.members() }

// members returns the living processes of the tree. Zombies of the tree that
// fell to us are reaped on the way: nobody else waits for them.
func (t *tree) members() []processInfo {
	look := snapshotDescendants()
	all, byPID := look.all, look.byPID
	self := os.Getpid()
	// Once the leader is reaped and its group is empty, its id may be given out again.
	leader, there := byPID[t.pid]
	reused := there && leader.start != t.start

	t.mu.Lock()
	defer t.mu.Unlock()
	verdicts := make(map[int]bool, len(all))
	var belongs func(p processInfo, depth int) bool
	belongs = func(p processInfo, depth int) bool {
		if verdict, ok := verdicts[p.pid]; ok {
			return verdict
		}
		verdict := false
		parent, known := byPID[p.ppid]
		switch {
		case p.pid == self || p.start < t.start:
		case !reused && (p.pid == t.pid || p.pgid == t.pid || p.sid == t.pid):
			verdict = true
		case t.seen[p.pid] == p.start && p.start != 0:
			verdict = true
		case known && p.ppid != self && depth < 100 && belongs(parent, depth+1):
			verdict = true
		case !p.zombie && (!marksFallToUs || isDescendant(self, p, byPID)):
			verdict = look.mark(p.pid) == t.mark
		}
		verdicts[p.pid] = verdict
		return verdict
	}

	var living []processInfo
	for _, p := range all {
		if !belongs(p, 0) {
			continue
		}
		t.seen[p.pid] = p.start
		switch {
		case !p.zombie:
			living = append(living, p)
		case p.ppid == self && p.pid != t.pid:
			reap(p.pid)
		}
	}
	for pid, start := range t.seen { // forget the dead, so that the map stays small
		if p, ok := byPID[pid]; !ok || p.start != start {
			delete(t.seen, pid)
		}
	}
	return living
}

// isDescendant reports whether p descends from the process ancestor.
func isDescendant(ancestor int, p processInfo, byPID map[int]processInfo) bool {
	for range 1000 {
		if p.ppid == ancestor {
			return true
		}
		parent, ok := byPID[p.ppid]
		if !ok || parent.pid == p.pid {
			return false
		}
		p = parent
	}
	return false
}

func (t *tree) alive() int { return len(t.members()) }

// terminate asks the tree to end. CONT follows, or a stopped process would never
// see the signal.
func (t *tree) terminate() {
	for _, p := range t.members() {
		signalProcess(p, unix.SIGTERM)
		signalProcess(p, unix.SIGCONT)
	}
}

// kill ends what is there now. Callers repeat it until alive says 0, because a
// process may fork between the look and the signal.
func (t *tree) kill() {
	living := t.members()
	for _, p := range living {
		if p.pgid == t.pid { // at once, so that the group cannot outrun us
			_ = unix.Kill(-t.pid, unix.SIGKILL)
			break
		}
	}
	for _, p := range living {
		signalProcess(p, unix.SIGKILL)
	}
}

// reap collects one dead child that is known to be adopted.
func reap(pid int) {
	for {
		_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}

func (s Spec) direct() Spec { return s }

// checkArgs has nothing to refuse here: arguments reach the program as they are.
func checkArgs(string, []string) error { return nil }

// readAvailable reads what is in the pipe at this moment, without waiting and without
// regard to a deadline.
func readAvailable(f *os.File, b []byte) (n int, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := conn.Control(func(fd uintptr) {
		for {
			if n, err = unix.Read(int(fd), b); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	return max(n, 0), errors.Join(err, cerr)
}

// missingInterpreter reports that a script exists but not the program in its first line.
func missingInterpreter(path string, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, serr := os.Stat(path)
	return serr == nil
}
