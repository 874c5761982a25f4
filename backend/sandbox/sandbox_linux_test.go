package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/sandbox/reexec"
)

// wrapped makes cmd confine itself to the rules.
func wrapped(t testing.TB, r Rules, cmd *exec.Cmd) {
	t.Helper()
	w, err := Wrap(cmd.Path, cmd.Args[1:], cmd.Environ())
	require.NoError(t, err)
	t.Cleanup(func() { w.Inherit.Close() })
	require.NoError(t, w.Confine(r))
	cmd.Path, cmd.Args, cmd.Stderr = w.Path, append([]string{w.Path}, w.Args...), os.Stderr
	cmd.Env, cmd.ExtraFiles = w.Env, append([]*os.File{w.Inherit}, cmd.ExtraFiles...)
}

// confined runs a program with the rules.
func confined(t *testing.T, r Rules, cmd *exec.Cmd) (string, error) {
	t.Helper()
	wrapped(t, r, cmd)
	out, err := cmd.Output()
	return string(out), err
}

// confinedInBackground starts a program with the rules that ends when its input does. It returns a
// function that waits for that.
func confinedInBackground(t *testing.T, r Rules, cmd *exec.Cmd) (release func() error) {
	t.Helper()
	wrapped(t, r, cmd)
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	release = sync.OnceValue(func() error { return errors.Join(input.Close(), cmd.Wait()) })
	t.Cleanup(func() { release() })
	_, err = input.Write([]byte("x")) // it answers when it is confined and runs
	require.NoError(t, err)
	_, err = output.Read(make([]byte, 1))
	require.NoError(t, err)
	return release
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
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	dir, err := os.MkdirTemp("testdata", "tmp-home-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		".ssh/id_ed25519", ".gnupg/secring", ".aws/credentials", ".config/google-chrome/Cookies", ".mozilla/cookies",
		".local/share/keyrings/login", ".claude.json", ".cursor/mcp.json", "data/history.db", ".bashrc", "document",
		".config/autostart/a.desktop", "project/file", "folder/file", "data/admin.token", "data/config.jsonc", "other/file", "other/.git/hooks/sample",
		"project/.git/hooks/sample", ".npm/_npx/a/index.js",
	} {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte("secret"), 0o600))
	}
	tool, err := os.ReadFile("/bin/true")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".ssh/tool"), tool, 0o755))
	return dir
}

func TestNoNetworkNeedsNoRulesForPorts(t *testing.T) {
	if !Available() || !filtersSockets() {
		t.Skip("this system has no Landlock, or no filter")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	connects := func(r Rules) bool {
		w, err := Wrap("/bin/bash", []string{"-c", fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && echo connected", ln.Addr().(*net.TCPAddr).Port)}, os.Environ())
		require.NoError(t, err)
		defer w.Inherit.Close()
		require.NoError(t, w.confine(truncateVersion, r)) // as on a kernel that cannot filter ports
		cmd := exec.Command(w.Path, w.Args...)
		cmd.Env, cmd.ExtraFiles = w.Env, []*os.File{w.Inherit}
		out, _ := cmd.CombinedOutput()
		return strings.Contains(string(out), "connected")
	}
	if r := (Rules{Read: []string{"/"}, Write: []string{"/dev/null"}}); !connects(r) {
		t.Error("no connection with network")
	} else if r.NoNetwork = true; connects(r) {
		t.Error("a connection without network")
	}
}

func TestHostileProgramCannotLeaveSandbox(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	to := target{Home: dir, Data: dir + "/data", Work: dir + "/project", Folder: dir + "/folder", Parent: os.Getpid()}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	to.Abstract = fmt.Sprintf("@drawbridge-test-%d", os.Getpid())
	abstract, err := net.Listen("unix", to.Abstract)
	require.NoError(t, err)
	defer abstract.Close()
	to.Unix = filepath.Join(t.TempDir(), "s")
	named, err := net.Listen("unix", to.Unix)
	require.NoError(t, err)
	defer named.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer udp.Close()
	to.TCP, to.UDP = tcp.Addr().String(), udp.LocalAddr().String()
	to.Datagram = filepath.Join(t.TempDir(), "d")
	datagram, err := net.ListenPacket("unixgram", to.Datagram)
	require.NoError(t, err)
	defer datagram.Close()
	require.NoError(t, os.Link(dir+"/.ssh/id_ed25519", dir+"/project/linked before"))
	to.Memory, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	require.NoError(t, err)
	defer unix.SysvShmCtl(to.Memory, unix.IPC_RMID, nil)
	to.Queue = fmt.Sprintf("drawbridge-test-%d", os.Getpid())
	if queue, err := openQueue(to.Queue, unix.O_CREAT); err == nil { // the kernel may have none
		unix.Close(queue)
		defer removeQueue(to.Queue)
	}
	sibling := exec.Command("/bin/cat")
	release := confinedInBackground(t, RulesFor(Program{Home: dir, Path: "/bin/cat"}), sibling)
	to.Sibling = sibling.Process.Pid
	plan, err := json.Marshal(to)
	require.NoError(t, err)

	run := func(r Rules) map[string]string {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env, cmd.Dir = append(os.Environ(), "SANDBOX_HOSTILE="+string(plan)), to.Work
		out, err := confined(t, r, cmd)
		require.NoError(t, err)
		var results map[string]string
		require.NoError(t, json.Unmarshal([]byte(out), &results), out)
		return results
	}
	results := run(RulesFor(Program{Home: dir, Dir: to.Work, Path: os.Args[0], Args: []string{to.Folder}, Private: []string{to.Data}, NoNetwork: true, NoUnixSockets: true}))
	refused := 0
	for _, a := range slices.Concat(attempts, indirectAttempts) {
		if a.temporary && contains(resolved(os.TempDir()), dir) {
			continue // the source lies in the temporary folder, which then is allowed in part
		}
		got := results[a.name]
		t.Logf("%-45s %.70s", a.name, got)
		assert.Equal(t, a.possible != "", got == "possible", a.name)
		assert.NotContains(t, got, "wrong attempt", a.name)
		if got != "possible" {
			refused++
		}
	}
	assert.Truef(t, refused >= 95, "only %d ways out are refused", refused)
	assert.NoError(t, release(), "another server was ended")
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
		require.NoError(t, err)
		defer tcp.Close()
		addresses, ports = append(addresses, tcp.Addr().String()), append(ports, tcp.Addr().(*net.TCPAddr).Port)
	}
	rules := RulesFor(Program{Home: dir, Path: os.Args[0], NoNetwork: true, Ports: ports[:1]})
	for i, address := range addresses {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "SANDBOX_DIAL="+address)
		_, err := confined(t, rules, cmd)
		assert.Equalf(t, i == 0, err == nil, "port %d", i+1)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SANDBOX_FAST_OPEN="+strconv.Itoa(ports[1]))
	out, err := confined(t, rules, cmd)
	assert.Truef(t, err == nil && out == "ok", "%v: %s", err, out)
}

func TestProgramThatCannotBeConfinedDoesNotRun(t *testing.T) {
	noSocket, err := os.Open("/dev/null")
	require.NoError(t, err)
	defer noSocket.Close()
	for name, answer := range map[string]func(daemon *os.File) error{
		"the daemon has ended": func(*os.File) error { return nil },
		"no descriptor":        func(daemon *os.File) error { return sendText(daemon) },
		"no rules":             func(daemon *os.File) error { return sendRules(daemon, noSocket, nil) },
		"two descriptors":      func(daemon *os.File) error { return sendText(daemon, noSocket, noSocket) },
		"not a socket":         nil, "nothing": nil,
	} {
		cmd := exec.Command("/proc/self/exe", "/bin/echo", "ran")
		cmd.Env = append(os.Environ(), reexec.Variable+"=")
		if name == "not a socket" {
			cmd.ExtraFiles = []*os.File{noSocket}
		} else if answer != nil {
			ours, daemon, err := socketPair()
			require.NoError(t, err)
			require.NoError(t, errors.Join(answer(daemon), daemon.Close()))
			defer ours.Close()
			cmd.ExtraFiles = []*os.File{ours}
		}
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); err == nil || code != reexec.Failed || !strings.Contains(string(out), "cannot start /bin/echo in its sandbox") {
			t.Errorf("%s: exit %d: %s", name, code, out)
		}
	}
}

func sendText(to *os.File, files ...*os.File) error {
	var rights []byte
	for i := range files {
		rights = unix.UnixRights(int(files[0].Fd()), int(files[i].Fd()))
	}
	return unix.Sendmsg(int(to.Fd()), []byte("text"), rights, nil, 0)
}

// GOMAXPROCS of the program is not the one that our own program has until it executes the other.
func TestConfinedProgramHasItsEnvironment(t *testing.T) {
	needLandlock(t)
	for _, want := range []string{"A=1\n", "A=1\nGOMAXPROCS=7\n", "A=1\nGOMAXPROCS=1\n"} {
		cmd := exec.Command("/usr/bin/env")
		cmd.Env = strings.Split(strings.TrimSpace(want), "\n")
		out, err := confined(t, Rules{Read: []string{"/"}}, cmd)
		assert.Truef(t, err == nil && out == want, "%q, not %q: %v", out, want, err)
	}
}

func TestConfinedProgramInheritsNoOtherDescriptor(t *testing.T) {
	needLandlock(t)
	cmd := exec.Command("/bin/ls", "/proc/self/fd")
	for range 100 { // also of numbers that ls does not use itself
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.Stdin)
	}
	out, err := confined(t, Rules{Read: []string{"/"}}, cmd)
	assert.NoError(t, err)
	assert.NotContains(t, out, "50\n")
}

// TestProgramThatReplacesAFolderByALinkGainsNothing starts a program twice. In between, the program has
// replaced folders that it may write by symbolic links to private ones.
func TestProgramThatReplacesAFolderByALinkGainsNothing(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	require.NoError(t, os.Mkdir(dir+"/project/inner", 0o755))
	p := Program{Home: dir, Dir: dir + "/project/inner", Path: "/bin/sh", Args: []string{dir + "/project"}, Read: []string{"~/project/file"}, Write: []string{"~/folder/out", "~/folder"}}
	sh := func(r Rules, script string) error {
		cmd := exec.Command("/bin/sh", "-c", "set -e; cd "+dir+"; "+script)
		_, err := confined(t, r, cmd)
		return err
	}
	require.NoError(t, sh(RulesFor(p), "rmdir project/inner; ln -s ../.config project/inner; rm project/file; ln -s ../.ssh/id_ed25519 project/file; ln -s ../.ssh folder/out"))
	rules := RulesFor(p)
	assert.Len(t, rules.Ignored, 3)
	for _, script := range []string{"echo x >.config/autostart/x", "cat .ssh/id_ed25519", "echo x >.ssh/authorized_keys"} {
		assert.Errorf(t, sh(rules, script), "%s: was possible", script)
	}
	assert.NoError(t, sh(rules, "echo x >project/new; echo x >folder/new"), "the folders themselves")
	// A link that the program creates after the rules were computed.
	rules = Rules{Read: []string{"/"}, Write: []string{dir + "/project/late"}}
	require.NoError(t, os.Symlink(dir+"/.config", dir+"/project/late"))
	assert.Error(t, sh(rules, "echo x >.config/y"), "the rules follow a link")
}

// A private file must not be readable where its file system is mounted a second time.
func TestBindMountDoesNotOpenPrivateFiles(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	second := t.TempDir()
	if err := unix.Mount(dir, second, "", unix.MS_BIND, ""); err != nil {
		t.Log("not tried: only root may mount:", err)
		return
	}
	defer unix.Unmount(second, unix.MNT_DETACH)
	read := func(path string) error {
		_, err := confined(t, RulesFor(Program{Home: dir, Path: "/bin/cat"}), exec.Command("/bin/cat", second+path))
		return err
	}
	assert.NoError(t, read("/document"), "another file")
	assert.Error(t, read("/.ssh/id_ed25519"), "the key can be read through a bind mount")
}

// A rule for a second mount of /proc would hold for /proc itself.
func TestSecondMountOfProcIsPrivate(t *testing.T) {
	needLandlock(t)
	dir, root := home(t), t.TempDir()
	for at, source := range map[string]string{"proc": "/proc", "dev": "/dev"} { // as for chroot
		require.NoError(t, os.Mkdir(filepath.Join(root, at), 0o755))
		if err := unix.Mount(source, filepath.Join(root, at), "", unix.MS_BIND, ""); err != nil {
			t.Log("not tried: only root may mount:", err)
			return
		}
		defer unix.Unmount(filepath.Join(root, at), unix.MNT_DETACH)
	}
	early, err := os.MkdirTemp("/dev/shm", "")
	require.NoError(t, err)
	defer os.Remove(early)
	require.NoError(t, unix.Mount("/proc", early, "", unix.MS_BIND, "")) // before the other private paths
	defer unix.Unmount(early, unix.MNT_DETACH)
	private := RulesFor(Program{Home: dir}).Private
	assert.Truef(t, slices.IsSorted(private) && slices.Contains(private, early), "private paths are looked up in a sorted list, which is %q", private)
	for _, folder := range []string{"/proc", root + "/proc"} {
		script := fmt.Sprintf("cat %[1]s/%[2]d/oom_score_adj >%[1]s/%[2]d/oom_score_adj", folder, os.Getpid())
		_, err = confined(t, RulesFor(Program{Home: dir, Path: "/bin/sh"}), exec.Command("/bin/sh", "-c", script))
		assert.Errorf(t, err, "%s of another process can be written", folder)
	}
}

func TestPermissionsOfOwnUserAreReported(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/etc/passwd", dir+"/link"))
	root := os.Geteuid() == 0
	for path, want := range map[string]bool{dir: true, dir + "/new": true, dir + "/none/new": true, "/etc/passwd": root, "/etc/drawbridge-new": root, dir + "/link": root} {
		assert.Equal(t, want, UserMayWrite(path), path)
	}
}

func TestTargetOfAPrivateLinkIsPrivate(t *testing.T) {
	needLandlock(t)
	dir := home(t)
	require.NoError(t, errors.Join(os.Rename(dir+"/.ssh", dir+"/dotfiles"), os.Symlink("dotfiles", dir+"/.ssh")))
	rules := RulesFor(Program{Home: dir, Path: "/bin/cat"})
	for _, path := range []string{"/.ssh/id_ed25519", "/dotfiles/id_ed25519"} {
		_, err := confined(t, rules, exec.Command("/bin/cat", dir+path))
		assert.Errorf(t, err, "%s was read", path)
	}
}
