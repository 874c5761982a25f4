package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// TestMain lets the test binary act as the confined program.
func TestMain(m *testing.M) {
	if plan := os.Getenv("SANDBOX_HOSTILE"); plan != "" {
		var target target
		if err := json.Unmarshal([]byte(plan), &target); err != nil {
			panic(err)
		}
		results := map[string]string{}
		for _, a := range slices.Concat(attempts, indirectAttempts) {
			results[a.name] = "possible"
			if err := a.try(target); err != nil {
				results[a.name] = err.Error()
			}
		}
		json.NewEncoder(os.Stdout).Encode(results)
		os.Exit(0)
	}
	if address := os.Getenv("SANDBOX_DIAL"); address != "" {
		if _, err := net.Dial("tcp", address); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if port, err := strconv.Atoi(os.Getenv("SANDBOX_FAST_OPEN")); err == nil {
		fmt.Print(tryFastOpen(port))
		os.Exit(0)
	}
	if path := os.Getenv("SANDBOX_READ"); path != "" {
		if _, err := os.ReadFile(path); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// target is what the hostile program attacks.
type target struct {
	Home, Data, Work, Folder string
	// Parent is not confined, and Sibling is confined as another server is.
	Parent, Sibling                    int
	TCP, Abstract, Unix, UDP, Datagram string
	// Memory is the key of System V memory of another program, and Queue the name of its message
	// queue.
	Memory int
	Queue  string
}

type attempt struct {
	name     string
	try      func(target) error
	possible string // why it is not refused; "" if it is
	// temporary is set if it needs the folder for temporary files.
	temporary bool
}

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func appendTo(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	return err
}

func create(path string) error { return os.WriteFile(path, []byte("x"), 0o644) }

// openOnly opens a device without reading from it, which could block.
func openOnly(path string) func(target) error {
	return func(target) error {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func inHome(path string, do func(string) error) func(target) error {
	return func(t target) error { return do(filepath.Join(t.Home, path)) }
}

func ofParent(format string, do func(string) error) func(target) error {
	return func(t target) error { return do(fmt.Sprintf(format, t.Parent)) }
}

func dial(network string, address func(target) string) func(target) error {
	return func(t target) error {
		c, err := net.Dial(network, address(t))
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	}
}

// attempts are ways out of a sandbox with the default rules and without network.
var attempts = []attempt{
	{name: "read an SSH key", try: inHome(".ssh/id_ed25519", read)},
	{name: "list the SSH keys", try: inHome(".ssh", func(p string) error { _, err := os.ReadDir(p); return err })},
	{name: "read a GnuPG key", try: inHome(".gnupg/secring", read)},
	{name: "read cloud credentials", try: inHome(".aws/credentials", read)},
	{name: "read a browser's cookies", try: inHome(".config/google-chrome/Cookies", read)},
	{name: "read another browser's cookies", try: inHome(".mozilla/cookies", read)},
	{name: "read a keyring", try: inHome(".local/share/keyrings/login", read)},
	{name: "read the file of a client", try: inHome(".claude.json", read)},
	{name: "change the file of a client", try: inHome(".cursor/mcp.json", appendTo)},
	{name: "read our database", try: func(t target) error { return read(t.Data + "/history.db") }},
	{name: "write to our database", try: func(t target) error { return appendTo(t.Data + "/history.db") }},
	{name: "append to .bashrc", try: inHome(".bashrc", appendTo)},
	{name: "truncate .bashrc", try: inHome(".bashrc", func(p string) error { return os.Truncate(p, 0) })},
	{name: "rename .bashrc", try: inHome(".bashrc", func(p string) error { return os.Rename(p, p+"2") })},
	{name: "remove .bashrc", try: inHome(".bashrc", os.Remove)},
	{name: "create a device", try: func(t target) error { return unix.Mknod(t.Work+"/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0))) }},
	{name: "read the kernel's messages by system call", try: func(target) error { _, err := unix.Klogctl(unix.SYSLOG_ACTION_SIZE_BUFFER, nil); return err }},
	{name: "observe the kernel", try: func(target) error {
		fd, err := unix.PerfEventOpen(&unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Size: unix.PERF_ATTR_SIZE_VER0}, 0, -1, -1, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "load a kernel module", try: func(target) error {
		if err := unix.FinitModule(-1, "", 0); !errors.Is(err, unix.EBADF) {
			return err
		}
		return nil // the kernel would have read the file
	}},
	{name: "load a BPF map", try: func(target) error {
		attr := [16]uint32{unix.BPF_MAP_TYPE_ARRAY, 4, 4, 1}
		_, _, e := unix.Syscall(unix.SYS_BPF, unix.BPF_MAP_CREATE, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		if e != 0 {
			return e
		}
		return nil
	}},
	{name: "create a file at home", try: inHome("new", create)},
	{name: "create a folder at home", try: inHome("newdir", func(p string) error { return os.Mkdir(p, 0o755) })},
	{name: "create an autostart entry", try: inHome(".config/autostart/x.desktop", create)},
	{name: "replace .bashrc by a rename", try: func(t target) error {
		if err := create(t.Work + "/rc"); err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		return os.Rename(t.Work+"/rc", t.Home+"/.bashrc")
	}},
	{name: "hard link to an SSH key", try: func(t target) error { return os.Link(t.Home+"/.ssh/id_ed25519", t.Work+"/key") }},
	{name: "read through a symbolic link", try: func(t target) error {
		os.Symlink(t.Home+"/.ssh/id_ed25519", t.Work+"/link")
		return read(t.Work + "/link")
	}},
	{name: "write through a symbolic link", try: func(t target) error {
		os.Symlink(t.Home+"/.bashrc", t.Work+"/rclink")
		return appendTo(t.Work + "/rclink")
	}},
	{name: "reopen an O_PATH descriptor", try: inHome(".ssh/id_ed25519", func(p string) error {
		fd, err := unix.Open(p, unix.O_PATH, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return read("/proc/self/fd/" + strconv.Itoa(fd))
	})},
	{name: "read another process's environment", try: ofParent("/proc/%d/environ", func(p string) error {
		b, err := os.ReadFile(p)
		if err == nil && len(b) == 0 {
			return errors.New("nothing to read")
		}
		return err
	})},
	{name: "open another process's memory", try: ofParent("/proc/%d/mem", read)},
	{name: "read through another process's root", try: func(t target) error {
		return read(fmt.Sprintf("/proc/%d/root%s/.ssh/id_ed25519", t.Parent, t.Home))
	}},
	{name: "follow another process's descriptor", try: ofParent("/proc/%d/fd/1", func(p string) error { _, err := os.Readlink(p); return err })},
	{name: "open another process's descriptor", try: ofParent("/proc/%d/fd/1", appendTo)},
	{name: "change another process's OOM score", try: ofParent("/proc/%d/oom_score_adj", appendTo)},
	{name: "attach to another process", try: func(t target) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return unix.PtraceSeize(t.Parent)
	}},
	{name: "read another process's memory", try: func(t target) error {
		var b [8]byte
		local := unix.Iovec{Base: &b[0], Len: 8}
		_, err := unix.ProcessVMReadv(t.Parent, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&b[0])), Len: 8}}, 0)
		if errors.Is(err, unix.EFAULT) {
			return nil // the address is wrong there, but it was looked up
		}
		return err
	}},
	{name: "signal another process", try: func(t target) error { return syscall.Kill(t.Parent, 0) }},
	{name: "connect to another's abstract socket", try: dial("unix", func(t target) string { return t.Abstract })},
	{name: "connect to a named socket", try: dial("unix", func(t target) string { return t.Unix })},
	{name: "use the keys that the kernel keeps", try: func(target) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, false)
		return err
	}},
	{name: "type into a terminal", try: func(target) error {
		var letter byte
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&letter))); errno != unix.ENOTTY {
			return errno
		}
		return nil // only because there is none
	}},
	{name: "open a terminal", try: openOnly("/dev/ptmx")},
	{name: "list the terminals", try: func(target) error { _, err := os.ReadDir("/dev/pts"); return err }},
	{name: "read the kernel's messages", try: openOnly("/dev/kmsg")},
	{name: "end another process by its limits", try: func(t target) error {
		return unix.Prlimit(t.Parent, unix.RLIMIT_CPU, nil, &unix.Rlimit{})
	}},
	{name: "listen on a port that the kernel chooses", try: func(target) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err == nil {
			defer unix.Close(fd)
			err = unix.Listen(fd, 1)
		}
		return err
	}},
	{name: "connect by TCP", try: dial("tcp", func(t target) string { return t.TCP })},
	{name: "connect by MPTCP", try: func(t target) error {
		d := net.Dialer{}
		d.SetMultipathTCP(true)
		c, err := d.Dial("tcp", t.TCP)
		if err == nil {
			c.Close()
		}
		return err
	}},
	{name: "send UDP", try: dial("udp", func(t target) string { return t.UDP })},
	{name: "open a raw socket", try: func(target) error {
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "use io_uring", try: func(target) error {
		var params [120]byte
		if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0); errno != 0 {
			return errno
		}
		return nil
	}},
	{name: "listen for TCP", try: func(target) error {
		l, err := net.Listen("tcp", "127.0.0.1:34127")
		if err == nil {
			l.Close()
		}
		return err
	}},
	{name: "mount a folder elsewhere", try: func(t target) error {
		return unix.Mount(t.Home, t.Work, "", unix.MS_BIND, "")
	}},
	{name: "mount in a namespace of its own", try: func(t target) error {
		c := exec.Command("/bin/sh", "-c", "mount --bind "+t.Home+" "+t.Work)
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS}
		return c.Run()
	}},
	{name: "read after chroot", try: inHome(".ssh", func(p string) error {
		c := exec.Command("/id_ed25519")
		c.SysProcAttr = &syscall.SysProcAttr{Chroot: p}
		return c.Run()
	})},
	{name: "run a program from a private folder", try: inHome(".ssh/tool", func(p string) error { return exec.Command(p).Run() })},
	{name: "read by a grandchild", try: inHome(".ssh/id_ed25519", func(p string) error {
		c := exec.Command("/bin/sh", "-c", `"$0"; exit $?`, os.Args[0])
		c.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SANDBOX_HOSTILE=") }), "SANDBOX_READ="+p)
		return c.Run()
	})},
	{name: "gain rights by setuid", try: func(target) error {
		if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || set == 1 {
			return errors.New("no_new_privs is set")
		}
		return nil
	}},
	{name: "use an inherited descriptor", try: func(target) error {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		for _, e := range entries {
			n, _ := strconv.Atoi(e.Name())
			to, _ := os.Readlink("/proc/self/fd/" + e.Name())
			own := slices.ContainsFunc([]string{"/proc/", "/sys/", "/dev/"}, func(dir string) bool { return strings.HasPrefix(to, dir) })
			if n > 2 && strings.HasPrefix(to, "/") && !own {
				return nil
			}
		}
		return errors.New("only the standard ones")
	}},
	{name: "write to a disk", try: func(target) error {
		if err := appendTo("/dev/loop-control"); !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return appendTo("/dev/mem")
	}},
	{name: "write to /etc", try: func(target) error { return create("/etc/drawbridge-hostile") }},
	{name: "write to /sys", try: func(target) error { return appendTo("/sys/kernel/uevent_helper") }},

	{name: "see that a private file exists", try: inHome(".ssh/id_ed25519", func(p string) error { _, err := os.Stat(p); return err }), possible: "Landlock does not restrict stat"},
	{name: "change the mode of .bashrc", try: inHome(".bashrc", func(p string) error { return os.Chmod(p, 0o644) }), possible: "Landlock does not restrict chmod and times"},
	{name: "write to its working directory", try: func(t target) error { return create(t.Work + "/own") }, possible: "default rules"},
	{name: "write to a folder named in its arguments", try: func(t target) error { return create(t.Folder + "/own") }, possible: "default rules"},
	{name: "write a temporary file", try: func(target) error {
		f, err := os.CreateTemp("", "hostile")
		if err == nil {
			os.Remove(f.Name())
		}
		return err
	}, possible: "default rules", temporary: true},
	{name: "read a document at home", try: inHome("document", read), possible: "default rules"},
}
