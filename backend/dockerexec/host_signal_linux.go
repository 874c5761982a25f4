package dockerexec

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// signalFromHost signals a process by its pid on the host, if the Engine runs on this machine and
// we have the permission. The cgroup of the process must contain the container's id, because the
// pid may belong to another machine.
func signalFromHost(pid int, container, name string) bool {
	if pid <= 1 {
		return false
	}
	groups, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil || !bytes.Contains(groups, []byte(container)) {
		return false
	}
	signal := syscall.SIGTERM
	if name == "KILL" {
		signal = syscall.SIGKILL
	}
	if syscall.Kill(-pid, signal) == nil { // runc makes it a process group leader
		return true
	}
	return syscall.Kill(pid, signal) == nil
}
