package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// indirectAttempts are ways out through other programs, other servers, privileges of root and other
// names of files.
var indirectAttempts = []attempt{
	{name: "read by a program in memory", try: inHome(".ssh/id_ed25519", func(p string) error {
		program, err := os.ReadFile(os.Args[0])
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		fd, err := unix.MemfdCreate("program", 0)
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		f := os.NewFile(uintptr(fd), "program")
		defer f.Close()
		if _, err := f.Write(program); err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		return runReader(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), p, 0)
	})},
	{name: "read in a user namespace of its own", try: inHome(".ssh/id_ed25519", func(p string) error {
		return runReader(os.Args[0], p, syscall.CLONE_NEWUSER|syscall.CLONE_NEWNS)
	})},
	{name: "read through its own root", try: inHome(".ssh/id_ed25519", func(p string) error { return read("/proc/self/root" + p) })},
	{name: "read through its working directory", try: func(target) error { return read("/proc/thread-self/cwd/../.ssh/id_ed25519") }},
	{name: "read by a handle of the file", try: func(t target) error {
		handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, t.Home+"/.aws/credentials", 0)
		if err != nil {
			return err
		}
		dir, err := unix.Open(t.Work, unix.O_RDONLY, 0)
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		defer unix.Close(dir)
		fd, err := unix.OpenByHandleAt(dir, handle, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "clone a mount", try: func(t target) error {
		fd, err := unix.OpenTree(unix.AT_FDCWD, t.Home+"/.ssh", unix.OPEN_TREE_CLONE)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return read(fmt.Sprintf("/proc/self/fd/%d/id_ed25519", fd))
	}},
	{name: "be asked before other programs open files", try: func(target) error {
		fd, err := unix.FanotifyInit(unix.FAN_CLASS_CONTENT, unix.O_RDONLY)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "exchange .bashrc with its own file", try: func(t target) error {
		return unix.Renameat2(unix.AT_FDCWD, t.Work+"/file", unix.AT_FDCWD, t.Home+"/.bashrc", unix.RENAME_EXCHANGE)
	}},
	{name: "give an unnamed file a name at home", try: func(t target) error {
		fd, err := unix.Open(t.Work, unix.O_TMPFILE|unix.O_WRONLY, 0o600)
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, t.Home+"/unnamed", unix.AT_SYMLINK_FOLLOW)
	}},
	{name: "create a systemd unit", try: inHome(".config/systemd/user", func(p string) error { return os.MkdirAll(p, 0o755) })},
	{name: "create a D-Bus service", try: inHome(".local/share/dbus-1/services", func(p string) error { return os.MkdirAll(p, 0o755) })},
	{name: "create a cron job", try: func(target) error {
		var err error
		for _, dir := range []string{"/var/spool/cron/crontabs", "/var/spool/cron", "/etc/cron.d"} {
			if err = create(dir + "/drawbridge-hostile"); err == nil {
				return nil
			}
		}
		return err
	}},
	{name: "have all programs load a library", try: func(target) error { return create("/etc/ld.so.preload.drawbridge-hostile") }},
	{name: "set the handler of core dumps", try: func(target) error { return appendTo("/proc/sys/kernel/core_pattern") }},
	{name: "send a system request", try: func(target) error { return appendTo("/proc/sysrq-trigger") }},
	{name: "leave its control group", try: func(target) error { return appendTo("/sys/fs/cgroup/cgroup.procs") }},
	{name: "add a Git hook to another repository", try: inHome("other/.git/hooks/post-commit", create)},
	{name: "change data of another server", try: inHome("other/file", appendTo)},
	{name: "change our configuration", try: func(t target) error { return appendTo(t.Data + "/config.jsonc") }},
	{name: "read our token", try: func(t target) error { return read(t.Data + "/admin.token") }},

	{name: "follow another process's working directory", try: ofParent("/proc/%d/cwd", func(p string) error { _, err := os.ReadDir(p); return err })},
	{name: "read the map of another process's memory", try: ofParent("/proc/%d/maps", readSome)},
	{name: "open another process's namespace", try: ofParent("/proc/%d/ns/mnt", openFile)},
	{name: "take another process's descriptor", try: func(t target) error {
		pidfd, err := unix.PidfdOpen(t.Parent, 0)
		if err != nil {
			return err
		}
		defer unix.Close(pidfd)
		fd, err := unix.PidfdGetfd(pidfd, 1, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "signal another process by a descriptor", try: func(t target) error {
		pidfd, err := unix.PidfdOpen(t.Parent, 0)
		if err != nil {
			return err
		}
		defer unix.Close(pidfd)
		return unix.PidfdSendSignal(pidfd, 0, nil, 0)
	}},
	{name: "attach to another server", try: func(t target) error { return unix.PtraceSeize(t.Sibling) }},
	{name: "signal another server", try: func(t target) error { return syscall.Kill(t.Sibling, 0) }},
	{name: "read another server's environment", try: func(t target) error { return readSome(fmt.Sprintf("/proc/%d/environ", t.Sibling)) }},
	{name: "read through another server's root", try: func(t target) error { return read(fmt.Sprintf("/proc/%d/root%s/document", t.Sibling, t.Home)) }},
	{name: "have the kernel signal another server", try: func(t target) error {
		var pipe [2]int
		if err := unix.Pipe(pipe[:]); err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		for command, value := range map[int]int{unix.F_SETOWN: t.Sibling, unix.F_SETSIG: int(unix.SIGTERM), unix.F_SETFL: unix.O_ASYNC} {
			if _, err := unix.FcntlInt(uintptr(pipe[0]), command, value); err != nil {
				return err
			}
		}
		if _, err := unix.Write(pipe[1], []byte("x")); err != nil {
			return err
		}
		return errors.New("another server lives") // the test sees whether it does
	}},
	{name: "send a datagram to a named socket through a pair", try: func(t target) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: t.Datagram})
	}},
	{name: "send a datagram to a named socket through a raw pair", try: func(t target) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_RAW, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(pair[0], []byte("x"), 0, &unix.SockaddrUnix{Name: t.Datagram})
	}},
	{name: "turn a pair into another connection", try: func(t target) error {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		return unix.Connect(pair[0], &unix.SockaddrUnix{Name: t.Unix})
	}},

	{name: "stop the machine", try: func(target) error {
		if err := unix.Reboot(0); !errors.Is(err, unix.EINVAL) { // not a command
			return err
		}
		return nil
	}},
	{name: "stop swapping", try: func(target) error {
		none := []byte("/none\x00")
		if _, _, err := unix.Syscall(unix.SYS_SWAPOFF, uintptr(unsafe.Pointer(&none[0])), 0, 0); err != unix.ENOENT {
			return err
		}
		return nil
	}},
	{name: "set the clock", try: func(target) error {
		_, err := unix.Adjtimex(&unix.Timex{Modes: unix.ADJ_SETOFFSET}) // by nothing
		return err
	}},
	{name: "read the memory of the kernel", try: func(target) error { return openFile("/proc/kcore") }},
	{name: "keep or regain privileges of root", try: func(target) error {
		status, err := exec.Command("/bin/sh", "-c", "cat /proc/self/status").Output()
		if err != nil {
			return errors.Join(errors.New("wrong attempt"), err)
		}
		for line := range strings.Lines(string(status)) {
			key, value, _ := strings.Cut(line, ":")
			if slices.Contains([]string{"CapInh", "CapPrm", "CapEff", "CapAmb"}, key) {
				set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
				if err != nil {
					return errors.Join(errors.New("wrong attempt"), err)
				}
				if set&(1<<unix.CAP_SYS_ADMIN|1<<unix.CAP_SYS_RAWIO|1<<unix.CAP_SYS_PTRACE|1<<unix.CAP_DAC_READ_SEARCH|1<<unix.CAP_NET_ADMIN|1<<unix.CAP_PERFMON) != 0 {
					return nil
				}
			}
		}
		return errors.New("none are left")
	}},

	{name: "watch a private folder", try: inHome(".ssh", func(p string) error {
		fd, err := unix.InotifyInit()
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_, err = unix.InotifyAddWatch(fd, p, unix.IN_ALL_EVENTS)
		return err
	}), possible: "Landlock does not restrict inotify"},
	{name: "read a key by a hard link of earlier", try: func(t target) error { return read(t.Work + "/linked before") }, possible: "Landlock knows paths, not contents"},
	{name: "read data of another server", try: inHome("other/file", read), possible: "default rules"},
	{name: "add a Git hook to its working directory", try: func(t target) error { return create(t.Work + "/.git/hooks/post-commit") }, possible: "Landlock cannot exclude new files of a folder"},
	{name: "change a package that npx runs", try: inHome(".npm/_npx/a/index.js", appendTo), possible: "default rules"},
	{name: "use shared memory of another program", try: func(t target) error {
		memory, err := unix.SysvShmAttach(t.Memory, 0, 0)
		if err == nil {
			err = unix.SysvShmDetach(memory)
		}
		return err
	}, possible: "Landlock does not restrict System V"},
	{name: "use a message queue of another program", try: func(t target) error {
		fd, err := openQueue(t.Queue, 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}},
	{name: "change the priority of another server", try: func(t target) error {
		return unix.Setpriority(unix.PRIO_PROCESS, t.Sibling, 19)
	}, possible: "Landlock does not restrict it"},
	{name: "read the command line of another process", try: ofParent("/proc/%d/cmdline", read), possible: "/proc is needed"},
}

func openFile(path string) error {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err
}

// readSome reads files that can be opened but are empty to those who may not read them.
func readSome(path string) error {
	b, err := os.ReadFile(path)
	if err == nil && len(b) == 0 {
		return errors.New("nothing to read")
	}
	return err
}

// runReader runs this program, from path, to read a file in new namespaces.
func runReader(path, file string, namespaces uintptr) error {
	c := exec.Command(path)
	c.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "SANDBOX_HOSTILE=") }), "SANDBOX_READ="+filepath.Clean(file))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	return c.Run()
}

func openQueue(name string, flags int) (int, error) {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), uintptr(flags|unix.O_RDWR), 0o600, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

func removeQueue(name string) {
	if text, err := unix.BytePtrFromString(name); err == nil {
		unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(text)), 0, 0)
	}
}
