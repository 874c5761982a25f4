package osutil

import (
	"os/exec"
	"syscall"
)

const createNoWindow = 0x08000000

// HideConsole makes cmd run without a console window and returns cmd. On Windows, a console
// program started by a program without a console, such as the tray, opens a window of its
// own. On other systems HideConsole does nothing.
func HideConsole(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: createNoWindow}
	return cmd
}
