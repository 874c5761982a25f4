package loopback

import (
	"errors"

	"golang.org/x/sys/windows"
)

// For a port that was opened exclusively, Windows returns "access denied".
func isAddressInUse(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || errors.Is(err, windows.WSAEACCES)
}
