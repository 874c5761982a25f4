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

const watchdogHelps = true

// trimAfter is when the watchdog gives back what only its own start needed.
const trimAfter = time.Second

// RunWatchdog runs this program again with args as the daemon, waits for its end
// and returns its exit status (128 plus the number of a signal that ended it).
// TERM, INT and HUP are passed on. When the daemon is dead, however it died,
// everything it left behind is ended within about a second, except for what
// Launch started. Then, unless the daemon exited with 0, after is called; it may
// be nil and is for what is not our descendant: processes inside containers.
//
// The calling process must do nothing else: its children are all reaped here.
func RunWatchdog(args []string, after func()) (exitCode int) {
	// This process only waits. Keep it as small as a Go program can be.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(10)
	if err := becomeGuardian(); err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge: orphans of a crash will not be ended:", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)

	daemon, err := startDaemon(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "drawbridge: cannot start the daemon:", err)
		return 1
	}
	go func() {
		for s := range signals {
			_ = unix.Kill(daemon, s.(syscall.Signal))
		}
	}()
	time.AfterFunc(trimAfter, ReleaseMemory) // the daemon needs the processor more

	exitCode = waitFor(daemon)
	endOrphans(daemon)
	if exitCode != 0 && after != nil {
		after()
	}
	return exitCode
}

// startDaemon starts the daemon in a group of its own, so that a Ctrl-C in the
// terminal reaches it once, through us. It gets one end of the lifeline; the other
// is ours alone and closes when we die.
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
	return pid, child.Release() // waitFor reaps it, with everything else
}

// lifelines keeps our ends from the garbage collector, which would close them.
var lifelines []*os.File

// waitFor reaps every child that ends until the daemon has.
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

// endOrphans ends everything the daemon left behind, but for what carries the
// keep mark, and not that of a server, and its offspring.
func endOrphans(daemon int) {
	h := treeKiller{look: listDescendants, grace: orphanGrace, patience: watchdogPatience, over: childless}
	h.guilty = func(all []processInfo) (guilty []processInfo) {
		byPID := make(map[int]processInfo, len(all))
		for _, p := range all {
			byPID[p.pid] = p
		}
		kept := make(map[int]bool)
		for _, p := range all {
			if isOrphan(p, daemon, byPID) && variable(p.pid, keepVariable) != "" && variable(p.pid, MarkVariable) == "" {
				kept[p.pid] = true
			}
		}
	next:
		for _, p := range all {
			if p.zombie || !isOrphan(p, daemon, byPID) {
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

// childless reaps the children that are dead and reports whether that was all of them:
// then nothing below us is left, whatever a look at the processes has missed.
func childless() bool {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD):
			return marksFallToUs
		case err != nil || pid <= 0:
			return false
		}
	}
}

// lifeline watches our end of the pipe that only the watchdog holds open.
func lifeline(fd int) <-chan struct{} {
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
