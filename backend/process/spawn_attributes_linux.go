package process

import "syscall"

// attributes put the child at the head of a group of its own. The parent-death
// signal reaches the direct child only; it is the fallback for the case that we
// and the watchdog are killed at the same moment.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
