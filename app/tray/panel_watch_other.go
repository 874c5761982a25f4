//go:build !linux && (!darwin || cgo)

package tray

import (
	"context"
	"errors"
	"runtime"
)

// Available reports whether an icon would be seen now, and why not.
func Available() (ok bool, why string) {
	if err := awaitPlace(context.Background(), Options{}); err != nil {
		return false, err.Error()
	}
	return true, ""
}

func awaitPlace(context.Context, Options) error {
	switch runtime.GOOS {
	case "windows", "darwin":
		return nil
	}
	return errors.New("there is no tray on this system")
}

// attend has nothing to watch: the system keeps the icon, and tells of the session's end.
func attend(context.Context, Options) {}
