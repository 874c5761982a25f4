package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights on files, by the version of the interface that introduced them.
const (
	readRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	allRights1 = unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1
	allRights2 = allRights1 | unix.LANDLOCK_ACCESS_FS_REFER
	allRights3 = allRights2 | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	allRights5 = allRights3 | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockABIVersion returns the ABI version of Landlock; 0 if the kernel has no Landlock.
func landlockABIVersion() int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

func rightsOf(version int) uint64 {
	switch {
	case version >= deviceVersion:
		return allRights5
	case version >= truncateVersion:
		return allRights3
	case version == 2:
		return allRights2
	}
	return allRights1
}

// newRuleset returns the rules for a kernel with this version of Landlock. What it cannot enforce,
// as Unsupported says, is left out.
func newRuleset(version int, r Rules) (*os.File, error) {
	if version == 0 {
		return nil, errors.New("the kernel does not support Landlock")
	}
	rights := rightsOf(version)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	if version >= networkVersion && r.NoNetwork {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= scopeVersion {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// An older kernel accepts the newer, larger structure because the fields that it lacks are
	// zero.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("cannot create the rules of the sandbox: %w", errno)
	}
	ruleset := os.NewFile(fd, "landlock")
	if err := addRules(int(fd), r, rights, attr.Handled_access_net != 0); err != nil {
		return nil, errors.Join(err, ruleset.Close())
	}
	return ruleset, nil
}

func addRules(ruleset int, r Rules, rights uint64, network bool) error {
	for _, path := range r.Read {
		if _, writable := slices.BinarySearch(r.Write, path); writable { // the other rule includes reading
			continue
		}
		if err := allowPath(ruleset, path, readRights); err != nil {
			return err
		}
	}
	for _, path := range r.Write { // but no device files, which only root can create, and through which it reaches disks
		if err := allowPath(ruleset, path, rights&^(unix.LANDLOCK_ACCESS_FS_MAKE_CHAR|unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)); err != nil {
			return err
		}
	}
	if !network {
		return nil
	}
	for _, port := range r.Ports {
		// The structure landlock_net_port_attr, which x/sys does not define, as it does not its
		// kind of rule.
		const portRule = 2
		rule := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
		if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), portRule, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
			return fmt.Errorf("cannot allow port %d: %w", port, errno)
		}
	}
	return nil
}

// allowPath adds a rule. A path that does not exist or cannot be opened has none, so everything
// below it is refused. Neither has a path through a symbolic link: paths of rules have none, so the
// link was created after the rules had been computed.
func allowPath(ruleset int, path string, rights uint64) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno == unix.EINVAL { // a file, for which the kernel accepts no rights on folders
		rule.Allowed_access &= fileRights
		_, _, errno = unix.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("cannot allow %s: %w", path, errno)
	}
	return nil
}

// socketPair returns the ends of a connection that keeps the limits of messages.
func socketPair() (a, b *os.File, err error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot create a socket for the rules of the sandbox: %w", err)
	}
	return os.NewFile(uintptr(pair[0]), "rules"), os.NewFile(uintptr(pair[1]), "rules"), nil
}

func sendRules(to, ruleset *os.File, filter []byte) error {
	err := unix.Sendmsg(int(to.Fd()), filter, unix.UnixRights(int(ruleset.Fd())), nil, unix.MSG_NOSIGNAL)
	if err != nil && !errors.Is(err, unix.EPIPE) { // the command has ended
		return fmt.Errorf("cannot pass the rules of the sandbox: %w", err)
	}
	return nil
}

// filtersSockets reports whether seccompFilter works on this machine.
func filtersSockets() bool { return auditArch() != 0 }

// selfPath stays valid after an update has replaced the executable.
const selfPath = "/proc/self/exe"

// UserMayWrite reports whether the permissions of path, or of its folder if it does not exist, let
// our own user write to it.
func UserMayWrite(path string) bool {
	target := resolved(path)
	err := unix.Access(target, unix.W_OK)
	if errors.Is(err, unix.ENOENT) {
		err = unix.Access(filepath.Dir(target), unix.W_OK)
	}
	return !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EROFS)
}
