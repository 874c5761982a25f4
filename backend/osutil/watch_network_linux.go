package osutil

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// rtnetlink multicast groups, from linux/rtnetlink.h.
const (
	groupLink       = 0x1
	groupIPv4Addr   = 0x10
	groupIPv4Routes = 0x40
	groupIPv6Addr   = 0x100
	groupIPv6Routes = 0x400
)

// subscribe subscribes to the kernel's rtnetlink events for links, addresses and routes.
func subscribe(ctx context.Context, news chan<- struct{}) error {
	fd, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, syscall.NETLINK_ROUTE)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	groups := &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK, Groups: groupLink | groupIPv4Addr | groupIPv4Routes | groupIPv6Addr | groupIPv6Routes}
	if err := syscall.Bind(fd, groups); err != nil {
		_ = syscall.Close(fd)
		return os.NewSyscallError("bind", err)
	}
	f := os.NewFile(uintptr(fd), "rtnetlink")
	stop := context.AfterFunc(ctx, func() { _ = f.Close() })
	go func() { // ends when f is closed
		defer stop()
		buffer := make([]byte, 16<<10)
		for {
			// The content is irrelevant: every message is a change. ENOBUFS means that messages
			// were lost, which is a change as well.
			_, err := f.Read(buffer)
			if ctx.Err() != nil || err != nil && !errors.Is(err, syscall.ENOBUFS) {
				_ = f.Close()
				return
			}
			select {
			case news <- struct{}{}:
			default:
			}
		}
	}()
	return nil
}
