package process

import "syscall"

// spawnAttributes makes the child the leader of a new process group. The parent-death signal
// reaches only the direct child; it is the fallback if the daemon and the watchdog are killed at
// the same moment.
func spawnAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
