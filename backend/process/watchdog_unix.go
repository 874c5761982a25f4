//go:build linux || darwin

package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const watchdogNeeded = true

// releaseMemoryDelay is the delay after which the watchdog calls ReleaseMemory.
const releaseMemoryDelay = time.Second

// repeatedSignal is the time after which another signal means that the user does not want to wait for the
// daemon. Programs that forward signals, such as npx, may send one twice immediately.
const repeatedSignal = 250 * time.Millisecond

// RunWatchdog runs this program again with args as the daemon, waits until it exits and returns
// its exit status (128 plus the number of the signal that terminated it). It forwards SIGTERM,
// SIGINT and SIGHUP; a second signal kills the daemon. After the daemon has exited for any reason, it ends all its descendants
// within about a second, except those that Launch started. Then it calls after, which may be nil, to
// end processes that are not descendants: those in containers. Even an orderly shutdown may leave
// some, because its time limit can pass while a slow Docker Engine removes them.
//
// The calling process must do nothing else, because RunWatchdog reaps all its children.
func RunWatchdog(args []string, after func()) (exitCode int) {
	// This process only waits, so it uses as little memory as possible.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(10)
	if err := becomeSubreaper(); err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge: processes left over after a crash will not be stopped:", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)

	daemon, err := startDaemon(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge: cannot start the daemon:", err)
		return 1
	}
	go func() {
		var first time.Time
		for s := range signals {
			signal := s.(syscall.Signal)
			if first.IsZero() {
				first = time.Now()
			} else if time.Since(first) > repeatedSignal {
				signal = unix.SIGKILL
			}
			_ = unix.Kill(daemon, signal)
		}
	}()
	time.AfterFunc(releaseMemoryDelay, ReleaseMemory) // later, because the daemon needs the CPU now

	exitCode = waitFor(daemon)
	endOrphans(daemon)
	endCgroups("*-" + strconv.Itoa(daemon) + "-*")
	if after != nil {
		after()
	}
	return exitCode
}

// Reexec replaces this process, which was the watchdog, by the program that is at the path now, with
// the same arguments and process ID. The path must have been read at the start: npm renames the
// folder of the running program before it installs another version. It returns only after an error.
func Reexec(path string) error {
	if err := unix.Exec(path, os.Args, os.Environ()); err != nil {
		return fmt.Errorf("cannot restart with %s: %w", path, err)
	}
	return nil
}

// startDaemon starts the daemon in its own process group, so that a Ctrl-C in the terminal
// reaches it only once, through us. It passes the read end of a pipe, the lifeline; we alone hold
// the write end, which the kernel closes when we exit.
func startDaemon(args []string) (pid int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer theirs.Close()
	const descriptor = 3
	env := withoutVariables(os.Environ(), watchdogVariable, MarkVariable, keepVariable)
	child, err := os.StartProcess(self, append([]string{os.Args[0]}, args...), &os.ProcAttr{
		Env:   append(env, watchdogVariable+"="+strconv.Itoa(descriptor)+":"+strconv.Itoa(os.Getpid())),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr, theirs},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		ours.Close()
		return 0, err
	}
	lifelines = append(lifelines, ours)
	pid = child.Pid
	return pid, child.Release() // waitFor reaps it
}

// lifelines holds the write ends, which the garbage collector would otherwise close.
var lifelines []*os.File

// waitFor reaps children until the daemon has exited, and returns its exit status.
func waitFor(daemon int) (exitCode int) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1
		case pid != daemon:
		case status.Signaled():
			return 128 + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}

// endOrphans ends all processes that the daemon left behind, except those with keepVariable and
// without MarkVariable, and their descendants.
func endOrphans(daemon int) {
	h := treeKiller{list: listDescendants, grace: orphanGrace, limit: watchdogKillTimeout, noneLeft: reapAndCheckNoChildren}
	h.selectTargets = func(all []processInfo) (guilty []processInfo) {
		byPID := make(map[int]processInfo, len(all))
		for _, p := range all {
			byPID[p.pid] = p
		}
		kept := make(map[int]bool)
		for _, p := range all {
			if isLeftByDaemon(p, daemon, byPID) && environVariable(p.pid, keepVariable) != "" && environVariable(p.pid, MarkVariable) == "" {
				kept[p.pid] = true
			}
		}
	next:
		for _, p := range all {
			if p.zombie || !isLeftByDaemon(p, daemon, byPID) {
				continue
			}
			for at, hops := p, 0; at.pid != 0 && hops < 1000; at, hops = byPID[at.ppid], hops+1 {
				if kept[at.pid] {
					continue next
				}
			}
			guilty = append(guilty, p)
		}
		return guilty
	}
	h.run()
}

// reapAndCheckNoChildren reaps the children that have exited and reports whether none is left.
// Then we have no descendants, even if a process list missed some.
func reapAndCheckNoChildren() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return markedAreDescendants
		case err != nil || pid <= 0:
			return false
		}
	}
}

// watchLifeline returns a channel that is closed when the watchdog, which holds the other end of
// the pipe, has exited.
func watchLifeline(fd int) <-chan struct{} {
	unix.CloseOnExec(fd)
	pipe := os.NewFile(uintptr(fd), "lifeline")
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		defer pipe.Close()
		var b [1]byte
		for {
			if _, err := pipe.Read(b[:]); err != nil {
				return
			}
		}
	}()
	return lost
}
