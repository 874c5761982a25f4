//go:build linux || darwin

package process

import (
	"os/exec"
	"syscall"
)

// supportsReadyPipe reports whether a child can inherit a file descriptor by number.
const supportsReadyPipe = true

// detachModes are the ways to detach a child, tried in order. Here the child gets its own
// session, without our terminal.
var detachModes = []func(*exec.Cmd){
	func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} },
}
