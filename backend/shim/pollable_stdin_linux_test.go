package shim

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// Other processes that share the pipe or socket are not affected.
func TestStdinReadBlocksNoThreadAndIsRestored(t *testing.T) {
	pipe := func() (theirs, ours *os.File) {
		var fds [2]int
		require.NoError(t, unix.Pipe2(fds[:], unix.O_CLOEXEC))
		return os.NewFile(uintptr(fds[1]), "theirs"), os.NewFile(uintptr(fds[0]), "ours")
	}
	socket := func() (theirs, ours *os.File) {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		return os.NewFile(uintptr(fds[1]), "theirs"), os.NewFile(uintptr(fds[0]), "ours")
	}
	for name, open := range map[string]func() (theirs, ours *os.File){"pipe": pipe, "socket": socket} {
		theirs, ours := open()
		in, restore := pollable(ours)
		// Only files in the poller support deadlines.
		assert.NoError(t, in.SetReadDeadline(time.Now().Add(time.Minute)), name)
		_, err := theirs.WriteString("hello")
		require.NoError(t, err)
		got := make([]byte, 8)
		if n, err := in.Read(got); err != nil || string(got[:n]) != "hello" {
			t.Errorf("%s: read %q, %v", name, got[:n], err)
		}
		assert.Falsef(t, name == "pipe" && nonblocking(t, ours), "%s: others that share it would not wait any more", name)
		restore()
		assert.Falsef(t, nonblocking(t, ours), "%s: it was not put back", name)
		theirs.Close()
		n, err := ours.Read(got)
		assert.Truef(t, n == 0 && err != nil, "%s: after its end: %d, %v", name, n, err)
		ours.Close()
	}

	// Data of a client that has already exited is read, even from a named pipe, whose opening may
	// wait for a writer.
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	read, err := unix.Open(fifo, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(read, false))
	ours := os.NewFile(uintptr(read), "ours")
	defer ours.Close()
	theirs, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = theirs.WriteString("last")
	require.NoError(t, err)
	theirs.Close()
	last := make(chan string, 1)
	go func() {
		in, restore := pollable(ours)
		defer restore()
		all, err := io.ReadAll(in)
		last <- fmt.Sprint(string(all), err)
	}()
	assert.Equal(t, "last<nil>", eventually.Receive(t, 30*time.Second, "a client that has gone is waited for", last), "of a client that has gone")

	// Regular files, which never block, and terminals, which other programs share, are unchanged.
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	in, _ := pollable(null)
	assert.Same(t, null, in, "a device was opened anew")
}

func nonblocking(t *testing.T, f *os.File) bool {
	t.Helper()
	raw, err := f.SyscallConn()
	require.NoError(t, err)
	set := false
	if err := raw.Control(func(fd uintptr) {
		flags, _ := unix.FcntlInt(fd, unix.F_GETFL, 0)
		set = flags&unix.O_NONBLOCK != 0
	}); err != nil {
		t.Fatal(err)
	}
	return set
}
