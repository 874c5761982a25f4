package sandbox

import "runtime"

// Versions of the interface that introduced what rules need.
const (
	truncateVersion = 3
	networkVersion  = 4
	deviceVersion   = 5
	scopeVersion    = 6
)

// Check returns which of the rules this system cannot enforce, as ends of the sentence "it cannot
// ...", and whether what it can enforce is enough: files and, if the rules mention it, the network.
func Check(r Rules) (missing []string, enough bool) { return check(kernelVersion(), r) }

func check(version int, r Rules) (missing []string, enough bool) {
	if version == 0 && runtime.GOOS != "linux" {
		return []string{"confine programs: that needs Linux"}, false
	} else if version == 0 {
		return []string{"confine programs: the kernel has no Landlock, or it is not enabled (Linux 5.13 or newer, boot option lsm=landlock)"}, false
	}
	enough = true
	if version < truncateVersion {
		missing, enough = append(missing, "refuse to truncate files (Linux 6.2)"), false
	}
	if version < networkVersion && r.NoNetwork {
		missing, enough = append(missing, "refuse TCP connections (Linux 6.7)"), false
	}
	if r.NoNetwork && !filtersSockets() {
		missing, enough = append(missing, "refuse UDP and MPTCP (machines other than amd64 and arm64)"), false
	}
	if version < deviceVersion {
		missing = append(missing, "refuse commands to devices (Linux 6.10)")
	}
	if version < scopeVersion {
		missing = append(missing, "refuse signals and abstract sockets to other programs (Linux 6.12)")
	}
	return missing, enough
}

// Available reports whether the system has Landlock in any version.
func Available() bool { return kernelVersion() > 0 }
