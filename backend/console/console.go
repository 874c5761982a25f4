//go:build !windows

// Package console keeps what we start from showing a window of its own.
package console

import "os/exec"

// Hide has cmd run without a console window: on Windows a program without one, as the tray's
// is, gives each child that wants one a new one, which flashes up. Elsewhere it does nothing.
func Hide(cmd *exec.Cmd) *exec.Cmd { return cmd }
