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

// tree finds all processes that belong to a child: those in its process group and session, its
// descendants, those that carry its mark, and those that belonged to it in an earlier list.
type tree struct {
	mark  string
	pid   int
	start uint64
	group string // a control group, "" if there is none

	mu   sync.Mutex     // guards seen
	seen map[int]uint64 // start by pid
}

func newTree(mark string) (*tree, error) {
	return &tree{mark: mark, group: makeCgroup(mark), seen: make(map[int]uint64)}, nil
}

func (t *tree) prepare(cmd *exec.Cmd) { cmd.SysProcAttr = spawnAttributes() }

// launch starts cmd in the control group. A kernel or a sandbox that does not allow it starts cmd without.
func (t *tree) launch(cmd *exec.Cmd) error {
	done := startInCgroup(t.group, cmd.SysProcAttr)
	defer done()
	err := cmd.Start()
	if err != nil && leaveCgroup(cmd.SysProcAttr) && !errors.Is(err, fs.ErrNotExist) {
		*cmd = exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr, ExtraFiles: cmd.ExtraFiles, SysProcAttr: cmd.SysProcAttr}
		err = cmd.Start()
	}
	return err
}

func (t *tree) adopt(child *os.Process) error {
	t.pid = child.Pid
	if p, ok := readProcess(t.pid); ok {
		t.start = p.start
	}
	return nil
}

func (t *tree) startedAt() uint64 { return t.start }
func (t *tree) groupPath() string { return t.group }

func (t *tree) release() {
	if t.group != "" {
		endCgroup(t.group)
	}
}

func (t *tree) recordMembers() { t.members() }

// members returns the living processes of the tree. It also reaps zombies of the tree that have
// become our children, because nothing else waits for them.
func (t *tree) members() []processInfo { return t.membersIn(snapshotDescendants()) }

func (t *tree) membersIn(snap *snapshot) []processInfo {
	all, byPID := snap.all, snap.byPID
	self := os.Getpid()
	// After the leader is reaped and its group is empty, its id may be reused.
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
		case !p.zombie && (!markedAreDescendants || isDescendant(self, p, byPID)):
			verdict = snap.mark(p.pid) == t.mark
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
	for pid, start := range t.seen { // remove exited processes
		if p, ok := byPID[pid]; !ok || p.start != start {
			delete(t.seen, pid)
		}
	}
	return living
}

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

func (t *tree) countAlive() int {
	n := len(t.members())
	if n == 0 && isCgroupPopulated(t.group) {
		n = 1 // no list of processes contains it
	}
	return n
}

// terminate sends SIGTERM to the tree. SIGCONT follows, because a stopped process would not
// handle the signal.
func (t *tree) terminate() {
	for _, p := range t.members() {
		signalProcess(p, unix.SIGTERM)
		signalProcess(p, unix.SIGCONT)
	}
}

// kill sends SIGKILL to the current members. Callers repeat it until alive returns 0, because a
// process may fork between the list and the signal.
func (t *tree) kill() {
	killCgroup(t.group)
	living := t.members()
	for _, p := range living {
		if p.pgid == t.pid { // atomically, so that the group cannot fork in between
			_ = unix.Kill(-t.pid, unix.SIGKILL)
			break
		}
	}
	for _, p := range living {
		signalProcess(p, unix.SIGKILL)
	}
}

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

func (s Spec) withoutCmdWrapper() Spec { return s }

// checkArgs accepts everything: arguments reach the program unchanged.
func checkArgs(string, []string) error { return nil }

// readAvailable reads what is in the pipe without blocking, regardless of the deadline.
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

// missingInterpreter reports whether path exists but the interpreter in its first line does not.
func missingInterpreter(path string, err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	_, serr := os.Stat(path)
	return serr == nil
}
