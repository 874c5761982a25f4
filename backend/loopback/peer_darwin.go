package loopback

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

const haveSockets = true

// peerUser is the user at the other end of c.
func peerUser(c *net.UnixConn) (uid int, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		var cred *unix.Xucred
		if cred, err = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid, errors.Join(failed, err)
}
