//go:build !windows

package loopback

import (
	"errors"
	"syscall"
)

func isAddressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
