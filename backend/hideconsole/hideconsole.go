//go:build !windows

package hideconsole

import "os/exec"

// HideWindow makes cmd run without a console window and returns cmd. On Windows, a console
// program started by a program without a console, such as the tray, opens a window of its
// own. On other systems HideWindow does nothing.
func HideWindow(cmd *exec.Cmd) *exec.Cmd { return cmd }
