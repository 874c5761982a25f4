//go:build e2e && linux && amd64

package faults

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// strace can fail the n-th call, too, but it counts the calls of each thread, and once started it cannot fail
// another one. This tracer counts those of the program, so that n names one call, and takes orders while the
// program runs: a failure costs milliseconds instead of a start.

// order is what the tracer shall fail: the Nth of these calls from now on, with an error. N = 0 only counts.
type order struct {
	Call  string
	Error int
	N     int
}

// state is what the tracer says about its order.
type state struct {
	Counts map[string]int // calls since the order
	Failed string         // the call that was failed, with its file; "" if there was none
	Ended  bool
	Code   int // exit code of the program, with Ended
}

// kinds are the calls that can fail, by their numbers.
var kinds = map[uint64]string{
	unix.SYS_OPENAT: "openat", unix.SYS_WRITE: "write", unix.SYS_PWRITE64: "pwrite64", unix.SYS_PREAD64: "pread64",
	unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fsync", unix.SYS_FTRUNCATE: "ftruncate",
	unix.SYS_RENAME: "rename", unix.SYS_RENAMEAT: "rename", unix.SYS_RENAMEAT2: "rename",
	unix.SYS_UNLINK: "unlink", unix.SYS_UNLINKAT: "unlink", unix.SYS_MKDIR: "mkdir", unix.SYS_MKDIRAT: "mkdir",
	unix.SYS_FLOCK: "flock", unix.SYS_FCNTL: "fcntl",
	unix.SYS_CLONE: "clone", unix.SYS_CLONE3: "clone", unix.SYS_FORK: "clone", unix.SYS_VFORK: "clone", unix.SYS_EXECVE: "execve",
	unix.SYS_PIPE2: "pipe2", unix.SYS_SOCKET: "socket", unix.SYS_ACCEPT4: "accept4", unix.SYS_CONNECT: "connect",
	unix.SYS_EPOLL_CTL: "epoll_ctl", unix.SYS_MMAP: "mmap",
}

// tracee is a thread. Depth is 0 in the watchdog, 1 in the daemon, 2 in what it starts, up to its execve.
type tracee struct {
	depth   int
	running bool // it was continued after its first stop
	inside  bool // in a system call
	fail    int  // the error that the call in progress returns
}

type tracer struct {
	threads map[int]*tracee

	mu    sync.Mutex // guards what follows
	order order
	state state
}

// trace starts the program, obeys the orders from in, one a line, and answers each with the state before it.
func trace(args []string, in io.Reader, out io.Writer) {
	runtime.LockOSThread() // ptrace belongs to a thread
	t := &tracer{threads: map[int]*tracee{}, state: state{Counts: map[string]int{}}}
	orders := bufio.NewScanner(in)
	next := func() bool {
		if !orders.Scan() {
			return false
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		line, err := json.Marshal(t.state)
		if err != nil {
			panic(err)
		}
		if text := orders.Text(); text != "" { // an empty line only asks
			t.order = order{}
			if err := json.Unmarshal([]byte(text), &t.order); err != nil {
				panic(err)
			}
			t.state.Counts, t.state.Failed = map[string]int{}, ""
		}
		_, _ = out.Write(append(line, '\n'))
		return true
	}
	next() // the first order is in force from the first call on
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Env: os.Environ(), Files: []*os.File{nil, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		panic(err)
	}
	go func() {
		for next() {
		}
		_ = unix.Kill(p.Pid, unix.SIGKILL) // the test has ended; the watchdog's children end with it
		os.Exit(0)
	}()
	t.loop(p.Pid)
	select {} // answer until the test ends
}

func (t *tracer) loop(root int) {
	t.threads[root] = &tracee{}
	for {
		var ws unix.WaitStatus
		tid, err := unix.Wait4(-1, &ws, unix.WALL, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // nobody is left
		}
		if ws.Exited() || ws.Signaled() {
			delete(t.threads, tid)
			if tid == root {
				t.mu.Lock()
				t.state.Ended, t.state.Code = true, ws.ExitStatus()
				if ws.Signaled() {
					t.state.Code = 128 + int(ws.Signal())
				}
				t.mu.Unlock()
			}
			continue
		}
		th := t.threads[tid]
		if th == nil { // stopped before its parent reported it
			th = &tracee{depth: -1}
			t.threads[tid] = th
		}
		t.stopped(tid, th, ws)
	}
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

func (t *tracer) stopped(tid int, th *tracee, ws unix.WaitStatus) {
	signal := 0
	switch s := ws.StopSignal(); {
	case !th.running: // the stop after execve of the program, or the SIGSTOP of a new thread
		th.running = true
		if th.depth == 0 && len(t.threads) == 1 {
			_ = unix.PtraceSetOptions(tid, traceOptions)
		}
		if th.depth < 0 {
			return // continued when its parent reports it
		}
	case s == unix.SIGTRAP|0x80:
		t.atCall(tid, th)
	case s == unix.SIGTRAP && ws.TrapCause() > 0:
		if t.event(tid, th, ws.TrapCause()) {
			return
		}
	default:
		signal = int(s)
	}
	_ = unix.PtraceSyscall(tid, signal)
}

// event handles a new thread or process, or an execve. It reports whether tid is not traced any more.
func (t *tracer) event(tid int, th *tracee, cause int) (detached bool) {
	if cause == unix.PTRACE_EVENT_EXEC {
		th.inside = true // its exit stop follows
		if th.depth < 2 {
			return false
		}
		delete(t.threads, tid)
		_ = unix.PtraceDetach(tid)
		return true
	}
	msg, err := unix.PtraceGetEventMsg(tid)
	if err != nil {
		return false
	}
	depth := th.depth
	if !sameProcess(int(msg), tid) {
		depth++
	}
	child := t.threads[int(msg)]
	if child == nil {
		t.threads[int(msg)] = &tracee{depth: depth}
		return false
	}
	child.depth = depth
	if child.running {
		_ = unix.PtraceSyscall(int(msg), 0)
	}
	return false
}

func sameProcess(tid, parent int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", parent, tid))
	return err == nil
}

func (t *tracer) atCall(tid int, th *tracee) {
	th.inside = !th.inside
	var regs unix.PtraceRegs
	if !th.inside {
		if th.fail != 0 && unix.PtraceGetRegs(tid, &regs) == nil {
			regs.Rax = uint64(-int64(th.fail))
			_ = unix.PtraceSetRegs(tid, &regs)
		}
		th.fail = 0
		return
	}
	if unix.PtraceGetRegs(tid, &regs) != nil {
		return
	}
	kind, ok := kinds[regs.Orig_rax]
	if !ok {
		return
	}
	target := ""
	switch kind {
	case "openat", "unlink", "mkdir", "rename", "execve":
	case "clone", "pipe2", "socket", "mmap":
	case "fcntl":
		if !takesLock(tid, &regs) {
			return
		}
		target, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, regs.Rdi))
	default:
		fd := regs.Rdi
		if kind == "epoll_ctl" {
			fd = regs.Rdx
		}
		if target, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, fd)); strings.Contains(target, "[eventfd]") {
			return // Go wakes its own threads with it, and the kernel has no way to fail that
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Counts[kind]++
	if t.order.N == 0 || t.order.Call != kind || t.state.Counts[kind] != t.order.N {
		return
	}
	for _, r := range []uint64{regs.Rdi, regs.Rsi, regs.R10} {
		if text := pathAt(tid, uintptr(r)); text != "" && target == "" {
			target = text
		}
	}
	who := []string{"watchdog", "daemon", "child"}[min(max(th.depth, 0), 2)]
	t.state.Failed = fmt.Sprintf("%s #%d of the %s: %v %s", kind, t.order.N, who, unix.Errno(t.order.Error), target)
	th.fail = t.order.Error
	regs.Orig_rax = ^uint64(0) // the kernel skips the call
	_ = unix.PtraceSetRegs(tid, &regs)
}

// takesLock reports whether a call of fcntl takes a lock, which is the only one of its uses that fails on a
// system that works.
func takesLock(tid int, regs *unix.PtraceRegs) bool {
	switch regs.Rsi {
	case unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW:
		var kind [2]byte // the first member of struct flock
		_, err := unix.PtracePeekData(tid, uintptr(regs.Rdx), kind[:])
		return err == nil && kind[0] != unix.F_UNLCK
	}
	return false
}

// pathAt returns the absolute path at an address of a tracee, or "".
func pathAt(tid int, address uintptr) string {
	var b [512]byte
	n, err := unix.PtracePeekData(tid, address, b[:])
	if err != nil && n == 0 || b[0] != '/' {
		return ""
	}
	text, _, _ := strings.Cut(string(b[:n]), "\x00")
	return text
}
