package process

import "syscall"

// spawnAttributes makes the child the leader of a new process group and session, without our
// terminal: the child could type commands into the shell from which the daemon was started (TIOCSTI).
// The parent-death signal reaches only the direct child; it is the fallback if the daemon and the
// watchdog are killed at the same moment.
func spawnAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
