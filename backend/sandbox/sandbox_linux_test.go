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

	"github.com/drawbridge-mcp/drawbridge/backend/sandbox/reexec"
)

// TestMain lets the test binary act as the confined program.
func TestMain(m *testing.M) {
	if plan := os.Getenv("SANDBOX_HOSTILE"); plan != "" {
		var target target
		if err := json.Unmarshal([]byte(plan), &target); err != nil {
			panic(err)
		}
		results := map[string]string{}
		for _, a := range attempts {
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
	Parent                   int
	TCP, Abstract, Unix, UDP string
}

type attempt struct {
	name     string
	try      func(target) error
	possible string // why it is not refused; "" if it is
	// temporary is set if it needs the folder for temporary files.
	temporary bool
	rootMay   bool // the kernel allows it to root (CAP_PERFMON)
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
	}), rootMay: true},
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
	{name: "connect to a named socket", try: dial("unix", func(t target) string { return t.Unix }), possible: "Landlock does not restrict it before version 9"},
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

// confined runs a program with the rules.
func confined(t *testing.T, r Rules, cmd *exec.Cmd) (string, error) {
	t.Helper()
	w, err := Wrap(r, cmd.Path, cmd.Args[1:])
	if err != nil {
		t.Fatal(err)
	}
	defer w.Ruleset.Close()
	cmd.Path, cmd.Args, cmd.Stderr = w.Path, append([]string{w.Path}, w.Args...), os.Stderr
	cmd.Env, cmd.ExtraFiles = append(cmd.Environ(), w.Env), append([]*os.File{w.Ruleset}, cmd.ExtraFiles...)
	out, err := cmd.Output()
	return string(out), err
}

func needLandlock(t *testing.T) {
	t.Helper()
	if landlockABIVersion() < scopeVersion {
		t.Skipf("this kernel has version %d of Landlock; the test needs %d", landlockABIVersion(), scopeVersion)
	}
}

// tryFastOpen tries to connect by sending to a port and by other families of sockets that use TCP.
// It returns "ok" if all of that was refused, and ordinary messages were not.
func tryFastOpen(port int) (result string) {
	var message unix.Msghdr
	var many struct {
		unix.Msghdr
		length uint32
	}
	name := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	name.Port = uint16(port)>>8 | uint16(port)<<8
	data := []byte("x")
	part := unix.Iovec{Base: &data[0], Len: 1}
	message.Name, message.Namelen, message.Iov, message.Iovlen = (*byte)(unsafe.Pointer(&name)), unix.SizeofSockaddrInet4, &part, 1
	many.Msghdr = message
	for what, send := range map[string]func(fd uintptr) unix.Errno{
		"sendto": func(fd uintptr) unix.Errno {
			_, _, e := unix.Syscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&data[0])), 1, unix.MSG_FASTOPEN, uintptr(unsafe.Pointer(&name)), unix.SizeofSockaddrInet4)
			return e
		},
		"sendmsg": func(fd uintptr) unix.Errno {
			_, _, e := unix.Syscall(unix.SYS_SENDMSG, fd, uintptr(unsafe.Pointer(&message)), unix.MSG_FASTOPEN)
			return e
		},
		"sendmmsg": func(fd uintptr) unix.Errno {
			_, _, e := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&many)), 1, unix.MSG_FASTOPEN, 0, 0)
			return e
		},
	} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err.Error()
		}
		if e := send(uintptr(fd)); e != unix.EOPNOTSUPP {
			result += fmt.Sprintln(what, e)
		}
		unix.Close(fd)
	}
	for _, family := range []int{unix.AF_SMC, unix.AF_RDS, unix.AF_VSOCK, unix.AF_PACKET} {
		if fd, err := unix.Socket(family, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EACCES) {
			result += fmt.Sprintln("socket of family", family, fd, err)
		}
	}
	c, err := net.Dial("udp", "127.0.0.1:9")
	if err == nil {
		_, err = c.Write(data)
	}
	pair, err2 := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err2 == nil {
		err2 = unix.Sendmsg(pair[0], data, nil, nil, unix.MSG_NOSIGNAL)
	}
	if err = errors.Join(err, err2); err != nil {
		result += fmt.Sprintln("ordinary messages", err)
	}
	if result == "" {
		return "ok"
	}
	return result
}

// home makes a home directory with secrets outside of the temporary folder, which may be written.
// It is in testdata, which the tests that read the source tree skip.
func home(t *testing.T) string {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("testdata", "tmp-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		".ssh/id_ed25519", ".gnupg/secring", ".aws/credentials", ".config/google-chrome/Cookies", ".mozilla/cookies",
		".local/share/keyrings/login", ".claude.json", ".cursor/mcp.json", "data/history.db", ".bashrc", "document",
		".config/autostart/a.desktop", "work/file", "folder/file",
	} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tool, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".ssh/tool"), tool, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestHostileProgramCannotLeaveSandbox(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	to := target{Home: dir, Data: dir + "/data", Work: dir + "/work", Folder: dir + "/folder", Parent: os.Getpid()}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	to.Abstract = fmt.Sprintf("@drawbridge-test-%d", os.Getpid())
	abstract, err := net.Listen("unix", to.Abstract)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	to.Unix = filepath.Join(t.TempDir(), "s")
	named, err := net.Listen("unix", to.Unix)
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	to.TCP, to.UDP = tcp.Addr().String(), udp.LocalAddr().String()
	plan, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}

	run := func(r Rules) map[string]string {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Dir = append(os.Environ(), "SANDBOX_HOSTILE="+string(plan)), to.Work
		out, err := confined(t, r, cmd)
		if err != nil {
			t.Fatal(err)
		}
		var results map[string]string
		if err := json.Unmarshal([]byte(out), &results); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return results
	}
	results := run(RulesFor(Program{Home: dir, Dir: to.Work, Path: os.Args[0], Args: []string{to.Folder}, Private: []string{to.Data}, NoNetwork: true}))
	refused := 0
	for _, a := range attempts {
		if a.temporary && contains(resolved(os.TempDir()), dir) {
			continue // the source lies in the temporary folder, which then is allowed in part
		}
		got := results[a.name]
		t.Logf("%-45s %.70s", a.name, got)
		if (got == "possible") != (a.possible != "") && !(a.rootMay && os.Geteuid() == 0) || strings.Contains(got, "wrong attempt") {
			t.Errorf("%s: %s", a.name, got)
		}
		if got != "possible" {
			refused++
		}
	}
	if refused < 40 {
		t.Errorf("only %d ways out are refused", refused)
	}
	for _, path := range []string{".bashrc", ".ssh/id_ed25519", "data/history.db", ".claude.json"} {
		if b, err := os.ReadFile(filepath.Join(dir, path)); string(b) != "secret" {
			t.Errorf("%s has changed: %q, %v", path, b, err)
		}
	}
}

func TestConfinedProgramReachesAllowedPortOnly(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	var addresses []string
	var ports []int
	for range 2 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		addresses, ports = append(addresses, tcp.Addr().String()), append(ports, tcp.Addr().(*net.TCPAddr).Port)
	}
	rules := RulesFor(Program{Home: dir, Path: os.Args[0], NoNetwork: true, Ports: ports[:1]})
	for i, address := range addresses {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SANDBOX_DIAL="+address)
		if _, err := confined(t, rules, cmd); (err == nil) != (i == 0) {
			t.Errorf("port %d of 2: %v", i+1, err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SANDBOX_FAST_OPEN="+strconv.Itoa(ports[1]))
	if out, err := confined(t, rules, cmd); err != nil || out != "ok" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestProgramThatCannotBeConfinedDoesNotRun(t *testing.T) {
	noRules, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer noRules.Close()
	for _, files := range [][]*os.File{nil, {noRules}} {
		cmd := exec.Command("/proc/self/exe", "/bin/echo", "ran")
		cmd.Env, cmd.ExtraFiles = append(os.Environ(), reexec.Variable+"="), files
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); err == nil || code != reexec.Failed || !strings.Contains(string(out), "cannot start /bin/echo in its sandbox") {
			t.Errorf("exit %d: %s", code, out)
		}
	}
}

func TestConfinedProgramInheritsNoOtherDescriptor(t *testing.T) {
	needLandlock(t)
	cmd := exec.Command("/bin/ls", "/proc/self/fd")
	for range 100 { // also of numbers that ls does not use itself
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.Stdin)
	}
	out, err := confined(t, Rules{Read: []string{"/"}}, cmd)
	if err != nil || strings.Contains(out, "50\n") {
		t.Errorf("%v: %q", err, out)
	}
}

// TestProgramThatReplacesAFolderByALinkGainsNothing starts a program twice. In between, the program has
// replaced folders that it may write by symbolic links to private ones.
func TestProgramThatReplacesAFolderByALinkGainsNothing(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	if err := os.Mkdir(dir+"/work/inner", 0o755); err != nil {
		t.Fatal(err)
	}
	p := Program{Home: dir, Dir: dir + "/work/inner", Path: "/bin/sh", Args: []string{dir + "/work"}, Read: []string{"~/work/file"}, Write: []string{"~/folder/out", "~/folder"}}
	sh := func(r Rules, script string) error {
		cmd := exec.Command("/bin/sh", "-c", "set -e; cd "+dir+"; "+script)
		_, err := confined(t, r, cmd)
		return err
	}
	if err := sh(RulesFor(p), "rmdir work/inner; ln -s ../.config work/inner; rm work/file; ln -s ../.ssh/id_ed25519 work/file; ln -s ../.ssh folder/out"); err != nil {
		t.Fatal(err)
	}
	rules := RulesFor(p)
	if len(rules.Ignored) != 3 {
		t.Errorf("ignored: %q", rules.Ignored)
	}
	for _, script := range []string{"echo x >.config/autostart/x", "cat .ssh/id_ed25519", "echo x >.ssh/authorized_keys"} {
		if err := sh(rules, script); err == nil {
			t.Errorf("%s: was possible", script)
		}
	}
	if err := sh(rules, "echo x >work/new; echo x >folder/new"); err != nil {
		t.Errorf("the folders themselves: %v", err)
	}
	// A link that the program creates after the rules were computed.
	rules = Rules{Read: []string{"/"}, Write: []string{dir + "/work/late"}}
	if err := os.Symlink(dir+"/.config", dir+"/work/late"); err != nil {
		t.Fatal(err)
	}
	if err := sh(rules, "echo x >.config/y"); err == nil {
		t.Error("the rules follow a link")
	}
}

func TestTargetOfAPrivateLinkIsPrivate(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	if err := errors.Join(os.Rename(dir+"/.ssh", dir+"/dotfiles"), os.Symlink("dotfiles", dir+"/.ssh")); err != nil {
		t.Fatal(err)
	}
	rules := RulesFor(Program{Home: dir, Path: "/bin/cat"})
	for _, path := range []string{"/.ssh/id_ed25519", "/dotfiles/id_ed25519"} {
		if _, err := confined(t, rules, exec.Command("/bin/cat", dir+path)); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
