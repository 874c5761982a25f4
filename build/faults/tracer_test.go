//go:build e2e && linux && amd64

package faults

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// strace can fail the n-th call, too, but it counts the calls of each thread, and once started it cannot fail
// another one. This tracer counts those of the program, so that n names one call, and takes orders while the
// program runs: a failure costs milliseconds instead of a start. A filter of the kernel stops the program at the
// calls of kinds only.

// order is what the tracer shall fail: the Nth of these calls from now on, with an error. N = 0 only counts. A call
// such as "write+" fails from the Nth on until the next order, and is one that changes files of the program.
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

// locks are the commands of fcntl that take a lock, which is the only one of its uses that fails on a system that
// works.
var locks = []uint32{unix.F_SETLK, unix.F_SETLKW, unix.F_OFD_SETLK, unix.F_OFD_SETLKW}

// tracee is a thread. Depth is 0 in the watchdog, 1 in the daemon, 2 in what it starts, more after its execve.
type tracee struct {
	depth   int
	running bool // it was continued after its first stop
}

type tracer struct {
	threads map[int]*tracee
	begun   bool // the program runs, after the filter was set

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
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := os.StartProcess(self, append([]string{self}, args...), &os.ProcAttr{Env: append(withoutRole(), role+"=tracee"), Files: []*os.File{nil, os.Stdout, os.Stderr}, Sys: &syscall.SysProcAttr{Ptrace: true}})
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

const traceOptions = unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// filtered lets the kernel report the calls of kinds, and becomes the program. The filter is inherited: without a
// tracer these calls do not exist, so what the program starts stays traced.
func filtered(args []string) {
	runtime.LockOSThread()
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	equal := func(value, no uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jf: uint8(no)}
	}
	result := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	filter := []unix.SockFilter{load(0)} // the number, in struct seccomp_data
	for number := range kinds {
		if number != unix.SYS_FCNTL {
			filter = append(filter, equal(uint32(number), 1), result(unix.SECCOMP_RET_TRACE))
		}
	}
	filter = append(filter, equal(unix.SYS_FCNTL, 1+2*uint32(len(locks))), load(24)) // its second argument
	for _, command := range locks {
		filter = append(filter, equal(command, 1), result(unix.SECCOMP_RET_TRACE))
	}
	filter = append(filter, result(unix.SECCOMP_RET_ALLOW))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	must(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	must(unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
	must(unix.Exec(args[0], args, withoutRole()))
}

func withoutRole() []string {
	return slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, role+"=") })
}

func (t *tracer) stopped(tid int, th *tracee, ws unix.WaitStatus) {
	signal := 0
	switch s := ws.StopSignal(); {
	case !th.running: // the stop after the first execve, or the SIGSTOP of a new thread
		th.running = true
		if th.depth == 0 && len(t.threads) == 1 {
			_ = unix.PtraceSetOptions(tid, traceOptions)
		}
		if th.depth < 0 {
			return // continued when its parent reports it
		}
	case s == unix.SIGTRAP && ws.TrapCause() > 0:
		t.event(tid, th, ws.TrapCause())
	default:
		signal = int(s)
	}
	_ = unix.PtraceCont(tid, signal)
}

// event handles a call, a new thread or process, or an execve.
func (t *tracer) event(tid int, th *tracee, cause int) {
	switch cause {
	case unix.PTRACE_EVENT_SECCOMP:
		if t.begun && th.depth <= 2 {
			t.atCall(tid, th)
		}
		return
	case unix.PTRACE_EVENT_EXEC:
		t.begun = true
		if th.depth >= 2 {
			th.depth = 3
		}
		return
	}
	msg, err := unix.PtraceGetEventMsg(tid)
	if err != nil {
		return
	}
	depth := th.depth
	if !sameProcess(int(msg), tid) {
		depth++
	}
	child := t.threads[int(msg)]
	if child == nil {
		t.threads[int(msg)] = &tracee{depth: depth}
		return
	}
	child.depth = depth
	if child.running {
		_ = unix.PtraceCont(int(msg), 0)
	}
}

func sameProcess(tid, parent int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", parent, tid))
	return err == nil
}

func (t *tracer) atCall(tid int, th *tracee) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(tid, &regs) != nil {
		return
	}
	kind, ok := kinds[regs.Orig_rax]
	if !ok {
		return
	}
	target, changes := "", true
	switch kind {
	case "unlink", "mkdir", "rename", "execve":
		target = pathIn(tid, regs.Rdi, regs.Rsi)
	case "openat":
		target, changes = pathIn(tid, regs.Rsi), regs.Rdx&(unix.O_WRONLY|unix.O_RDWR|unix.O_CREAT) != 0
	case "clone", "pipe2", "socket", "mmap":
	case "fcntl":
		if !takesLock(tid, &regs) {
			return
		}
		target, changes = fileOf(tid, regs.Rdi), false
	case "epoll_ctl":
		target, changes = fileOf(tid, regs.Rdx), false
	default:
		target, changes = fileOf(tid, regs.Rdi), kind != "pread64"
	}
	if strings.Contains(target, "[eventfd]") {
		return // Go wakes its own threads with it, and the kernel has no way to fail that
	}
	changes = changes && strings.HasPrefix(target, filepath.Dir(os.Getenv("HOME"))+"/")
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Counts[kind]++
	fails := t.order.N > 0 && t.order.Call == kind && t.state.Counts[kind] == t.order.N
	if changes {
		t.state.Counts[kind+"+"]++
		fails = fails || t.order.N > 0 && t.order.Call == kind+"+" && t.state.Counts[kind+"+"] >= t.order.N
	}
	if !fails {
		return
	}
	if t.state.Failed == "" {
		who := []string{"watchdog", "daemon", "child"}[min(max(th.depth, 0), 2)]
		t.state.Failed = fmt.Sprintf("%s #%d of the %s: %v %s", t.order.Call, t.order.N, who, unix.Errno(t.order.Error), target)
	}
	regs.Orig_rax = ^uint64(0) // the kernel skips the call
	regs.Rax = uint64(-int64(t.order.Error))
	_ = unix.PtraceSetRegs(tid, &regs)
}

func fileOf(tid int, fd uint64) string {
	target, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tid, fd))
	return target
}

func takesLock(tid int, regs *unix.PtraceRegs) bool {
	var kind [2]byte // the first member of struct flock
	_, err := unix.PtracePeekData(tid, uintptr(regs.Rdx), kind[:])
	return err == nil && kind[0] != unix.F_UNLCK
}

// pathIn returns the first absolute path at one of the addresses of a tracee, or "".
func pathIn(tid int, addresses ...uint64) string {
	for _, address := range addresses {
		var b [512]byte
		n, err := unix.ProcessVMReadv(tid, []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}, []unix.RemoteIovec{{Base: uintptr(address), Len: len(b)}}, 0)
		if err != nil {
			n, _ = unix.PtracePeekData(tid, uintptr(address), b[:])
		}
		if text, _, found := strings.Cut(string(b[:n]), "\x00"); found && strings.HasPrefix(text, "/") {
			return text
		}
	}
	return ""
}
