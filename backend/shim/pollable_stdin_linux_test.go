package shim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// Other processes that share the pipe or socket are not affected.
func TestStdinReadBlocksNoThreadAndIsRestored(t *testing.T) {
	pipe := func() (theirs, ours *os.File) {
		var fds [2]int
		if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fds[1]), "theirs"), os.NewFile(uintptr(fds[0]), "ours")
	}
	socket := func() (theirs, ours *os.File) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		return os.NewFile(uintptr(fds[1]), "theirs"), os.NewFile(uintptr(fds[0]), "ours")
	}
	for name, open := range map[string]func() (theirs, ours *os.File){"pipe": pipe, "socket": socket} {
		theirs, ours := open()
		in, restore := pollable(ours)
		// Only files in the poller support deadlines.
		if err := in.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Errorf("%s: a read would hold a thread: %v", name, err)
		}
		if _, err := theirs.WriteString("hello"); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 8)
		if n, err := in.Read(got); err != nil || string(got[:n]) != "hello" {
			t.Errorf("%s: read %q, %v", name, got[:n], err)
		}
		if name == "pipe" && nonblocking(t, ours) {
			t.Errorf("%s: others that share it would not wait any more", name)
		}
		restore()
		if nonblocking(t, ours) {
			t.Errorf("%s: it was not put back", name)
		}
		theirs.Close()
		if n, err := ours.Read(got); n != 0 || err == nil {
			t.Errorf("%s: after its end: %d, %v", name, n, err)
		}
		ours.Close()
	}

	// Data of a client that has already exited is read, even from a named pipe, whose opening may
	// wait for a writer.
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(read, false); err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(read), "ours")
	defer ours.Close()
	theirs, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.WriteString("last"); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	last := make(chan string, 1)
	go func() {
		in, restore := pollable(ours)
		defer restore()
		all, err := io.ReadAll(in)
		last <- fmt.Sprint(string(all), err)
	}()
	if got := eventually.Receive(t, 30*time.Second, "a client that has gone is waited for", last); got != "last<nil>" {
		t.Errorf("of a client that has gone: %s", got)
	}

	// Regular files, which never block, and terminals, which other programs share, are unchanged.
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if in, _ := pollable(null); in != null {
		t.Error("a device was opened anew")
	}
}

func nonblocking(t *testing.T, f *os.File) bool {
	t.Helper()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	set := false
	if err := raw.Control(func(fd uintptr) {
		flags, _ := unix.FcntlInt(fd, unix.F_GETFL, 0)
		set = flags&unix.O_NONBLOCK != 0
	}); err != nil {
		t.Fatal(err)
	}
	return set
}
