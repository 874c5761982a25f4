//go:build linux || darwin

package loopback

import (
	"errors"
	"net"
)

const haveSockets = true

// peerUserOf returns the user id of the process at the other end of c.
func peerUserOf(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) { uid, err = peerUID(int(fd)) })
	return uid, errors.Join(failed, err)
}
