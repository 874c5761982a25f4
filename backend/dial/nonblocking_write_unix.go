//go:build unix

package dial

import (
	"io"
	"os"
	"syscall"
)

// nonblockingWriter writes to a pipe without waiting for room in it. It is not safe for
// concurrent use.
type nonblockingWriter struct {
	conn  syscall.RawConn
	p     []byte
	wrote int
	once  func(fd uintptr) bool
}

// nonblockingWriterIfSupported returns nil if w is not a pipe of the operating system.
func nonblockingWriterIfSupported(w io.Writer) *nonblockingWriter {
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
		n, _ := syscall.Write(int(fd), a.p) // an error comes again when the rest is written
		a.wrote = max(n, 0)
		return true // never wait, whatever the result
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

// write writes as much of p as there is room for and returns its length.
func (a *nonblockingWriter) write(p []byte) int {
	a.p, a.wrote = p, 0
	_ = a.conn.Write(a.once)
	a.p = nil
	return a.wrote
}
