package dockerexec

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// signalFromHost sends a signal to a process by its id outside, when the Engine
// runs on this machine and we are allowed to. The control group has to name the
// container: an id of another machine means nothing here.
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
	if syscall.Kill(-pid, signal) == nil { // runc makes it the leader of a group
		return true
	}
	return syscall.Kill(pid, signal) == nil
}
