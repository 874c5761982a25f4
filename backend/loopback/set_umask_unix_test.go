//go:build !windows

package loopback

import "golang.org/x/sys/unix"

func umask(mask int) (restore func()) {
	old := unix.Umask(mask)
	return func() { unix.Umask(old) }
}
