//go:build !windows

package osutil

import "os/exec"

// HideConsole makes cmd run without a console window and returns cmd. On Windows, a console
// program started by a program without a console, such as the tray, opens a window of its
// own. On other systems HideConsole does nothing.
func HideConsole(cmd *exec.Cmd) *exec.Cmd { return cmd }
