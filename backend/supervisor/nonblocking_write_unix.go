//go:build unix

package supervisor

import (
	"io"
	"os"
	"syscall"
)

// nonblockingWriter writes to a pipe without waiting for room in it. One goroutine at a time uses it.
type nonblockingWriter struct {
	conn  syscall.RawConn
	p     []byte
	wrote int
	once  func(fd uintptr) bool
}

// newNonblockingWriter returns nil for what is not a pipe of the system.
func newNonblockingWriter(w io.Writer) *nonblockingWriter {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return nil
	}
	raw, err := f.SyscallConn()
	if err != nil || !isNonblocking(raw) {
		return nil
	}
	a := &nonblockingWriter{conn: raw}
	a.once = func(fd uintptr) bool {
		n, _ := syscall.Write(int(fd), a.p) // whoever writes the rest meets the error
		a.wrote = max(n, 0)
		return true // whatever came of it: never wait
	}
	return a
}

func isNonblocking(conn syscall.RawConn) (yes bool) {
	_ = conn.Control(func(fd uintptr) {
		flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, fd, syscall.F_GETFL, 0)
		yes = errno == 0 && flags&syscall.O_NONBLOCK != 0
	})
	return yes
}

// write returns how much of p there was room for.
func (a *nonblockingWriter) write(p []byte) int {
	a.p, a.wrote = p, 0
	_ = a.conn.Write(a.once)
	a.p = nil
	return a.wrote
}
