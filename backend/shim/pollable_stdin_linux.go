package shim

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// pollable returns f as a file that uses the runtime poller, if f is a pipe or a socket. A blocking
// read would occupy its thread: a message that was read before it would be processed only after the
// runtime's monitor has handed the processor to another thread, some tens of microseconds later.
//
// A pipe is opened again, so that other processes that share it are not affected. That is
// impossible for a socket, so restore makes it blocking again.
func pollable(f *os.File) (in *os.File, restore func()) {
	noRestore := func() {}
	info, err := f.Stat()
	if err != nil {
		return f, noRestore
	}
	raw, err := f.SyscallConn() // Fd would make f blocking again
	if err != nil {
		return f, noRestore
	}
	fd, blocking := -1, false
	_ = raw.Control(func(number uintptr) {
		flags, err := unix.FcntlInt(number, unix.F_GETFL, 0)
		fd, blocking = int(number), err == nil && flags&unix.O_NONBLOCK == 0
	})
	if !blocking {
		return f, noRestore
	}
	switch info.Mode().Type() {
	case os.ModeNamedPipe:
		if reopened, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			return reopened, func() { reopened.Close() }
		}
	case os.ModeSocket:
	default:
		return f, noRestore
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f, noRestore
	}
	if err := unix.SetNonblock(own, true); err != nil {
		unix.Close(own)
		return f, noRestore
	}
	in = os.NewFile(uintptr(own), f.Name())
	return in, func() {
		_ = unix.SetNonblock(fd, false)
		in.Close()
	}
}
