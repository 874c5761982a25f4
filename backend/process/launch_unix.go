//go:build linux || darwin

package process

import (
	"os/exec"
	"syscall"
)

// hearsReady reports whether a child can inherit a file descriptor by number.
const hearsReady = true

// detachments are the ways to detach a child, tried in order. Here the child gets its own
// session, without our terminal.
var detachments = []func(*exec.Cmd){
	func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} },
}
