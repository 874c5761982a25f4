//go:build !linux && (!darwin || cgo)

package tray

import (
	"context"
	"errors"
	"runtime"
)

// Available reports whether an icon would be visible now, and if not, why.
func Available() (ok bool, why string) {
	if err := awaitPanel(context.Background(), Options{}); err != nil {
		return false, err.Error()
	}
	return true, ""
}

func awaitPanel(context.Context, Options) error {
	switch runtime.GOOS {
	case "windows", "darwin":
		return nil
	}
	return errors.New("there is no tray on this system")
}

// watchPanel does nothing: the system retains the icon and reports the end of the session.
func watchPanel(context.Context, Options) {}
