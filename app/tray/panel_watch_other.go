//go:build !linux && (!darwin || cgo)

package tray

import (
	"context"
	"errors"
	"runtime"
)

func awaitPanel(context.Context, Options) error {
	switch runtime.GOOS {
	case "windows", "darwin":
		return nil
	}
	return errors.New("there is no tray on this system")
}

// watchPanel does nothing: the system retains the icon and reports the end of the session.
func watchPanel(context.Context, Options) {}
