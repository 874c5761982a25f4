// Package console keeps what we start from showing a window of its own.
package console

import (
	"os/exec"
	"syscall"
)

// createNoWindow is CREATE_NO_WINDOW of winbase.h.
const createNoWindow = 0x08000000

// Hide has cmd run without a console window: on Windows a program without one, as the tray's
// is, gives each child that wants one a new one, which flashes up. Elsewhere it does nothing.
func Hide(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{HideWindow: true, CreationFlags: createNoWindow}
	return cmd
}
