//go:build !windows

package loopback

import (
	"errors"
	"syscall"
)

func portTaken(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
