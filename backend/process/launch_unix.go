//go:build linux || darwin

package process

import (
	"os/exec"
	"syscall"
)

// hearsReady: a child can be given a descriptor.
const hearsReady = true

// detachments give the child a session of its own, without our terminal.
var detachments = []func(*exec.Cmd){
	func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} },
}
