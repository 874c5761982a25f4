//go:build linux || darwin

package process

import (
	"os/exec"
	"syscall"
)

// detach gives the child a session of its own, without our terminal.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
