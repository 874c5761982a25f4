package sandbox

import (
	"runtime"
)

// Unsupported returns which of the rules this system cannot enforce, as ends of the sentence "it
// cannot ...", and whether what it can enforce is enough: files and, if the rules mention it, the
// network.
func Unsupported(r Rules) (missing []string, enough bool) {
	return unsupported(landlockABIVersion(), r)
}

func unsupported(version int, r Rules) (missing []string, enough bool) {
	if version == 0 && runtime.GOOS != "linux" {
		return []string{"confine programs, which requires Linux"}, false
	} else if version == 0 {
		return []string{"confine programs, because the kernel does not support Landlock or Landlock is not enabled (requires Linux 5.13 or later, and the boot option lsm=landlock)"}, false
	}
	enough = true
	if version < truncateVersion {
		missing, enough = append(missing, "block the truncation of files (requires Linux 6.2)"), false
	}
	if version < networkVersion && r.NoNetwork && len(r.Ports) > 0 { // without ports, the seccomp filter refuses all sockets
		missing, enough = append(missing, "restrict TCP connections to certain ports (requires Linux 6.7)"), false
	}
	switch {
	case filtersSockets():
	case r.NoNetwork:
		missing, enough = append(missing, "block network connections and Unix sockets (requires amd64 or arm64)"), false
	case r.NoUnixSockets:
		missing, enough = append(missing, "block Unix sockets (requires amd64 or arm64)"), false
	default:
		missing = append(missing, "block access to the kernel keyring (requires amd64 or arm64)")
	}
	if version < deviceVersion {
		missing = append(missing, "block device ioctls (requires Linux 6.10)")
	}
	if version < scopeVersion {
		missing = append(missing, "block signals and connections through abstract sockets to other processes (requires Linux 6.12)")
	}
	return missing, enough
}

// Available reports whether the system has Landlock in any version.
func Available() bool { return landlockABIVersion() > 0 }
