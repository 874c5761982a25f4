package shim

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// polled returns f as a file whose reads wait with everything else that this process
// waits for, where f is a pipe or a socket. A read that blocks takes its thread with it:
// what came in before would then be looked at only when the runtime's monitor, some tens
// of microseconds later, has given the processor to another thread.
//
// A pipe is opened anew, so that nobody who shares it sees a difference. A socket cannot
// be: restore puts it back.
func polled(f *os.File) (in *os.File, restore func()) {
	same := func() {}
	info, err := f.Stat()
	if err != nil {
		return f, same
	}
	raw, err := f.SyscallConn() // Fd would make it wait again
	if err != nil {
		return f, same
	}
	fd, waits := -1, false
	_ = raw.Control(func(number uintptr) {
		flags, err := unix.FcntlInt(number, unix.F_GETFL, 0)
		fd, waits = int(number), err == nil && flags&unix.O_NONBLOCK == 0
	})
	if !waits {
		return f, same
	}
	switch info.Mode().Type() {
	case os.ModeNamedPipe:
		if again, err := os.OpenFile("/proc/self/fd/"+strconv.Itoa(fd), os.O_RDONLY|unix.O_NONBLOCK, 0); err == nil {
			return again, func() { again.Close() }
		}
	case os.ModeSocket:
	default:
		return f, same
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f, same
	}
	if err := unix.SetNonblock(own, true); err != nil {
		unix.Close(own)
		return f, same
	}
	in = os.NewFile(uintptr(own), f.Name())
	return in, func() {
		_ = unix.SetNonblock(fd, false)
		in.Close()
	}
}
