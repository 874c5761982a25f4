package loopback

import (
	"errors"

	"golang.org/x/sys/windows"
)

// A port that was opened exclusively answers "access denied".
func portTaken(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || errors.Is(err, windows.WSAEACCES)
}
