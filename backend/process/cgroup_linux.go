package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A control group (version 2) holds a server with everything that it starts, whatever sessions, environments
// or parents these choose, and the kernel kills all of it at once. The groups of one run are in one folder
// below the group of the daemon. Where the system lets this user make none, group paths are "", and
// processes are found by their ancestors, sessions and marks only.

// cgroupParent returns the folder of the control group of this process, or "" if it may make no groups in it.
func cgroupParent() string {
	own, err := os.ReadFile("/proc/self/cgroup")
	mounts, err2 := os.ReadFile("/proc/self/mounts")
	if err != nil || err2 != nil {
		return ""
	}
	path := ""
	for line := range strings.Lines(string(own)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSpace(rest)
		}
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); path != "" && len(f) > 2 && f[2] == "cgroup2" {
			dir := filepath.Join(f[1], path)
			if unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil && unix.Access(dir, unix.W_OK) == nil {
				return dir
			}
		}
	}
	return ""
}

// makeCgroup makes the control group of one start: mark is INSTANCE/RUN/NUMBER/NAME.
func makeCgroup(mark string) string {
	parent := cgroupParent()
	parts := strings.SplitN(mark, "/", 4)
	if parent == "" || len(parts) < 3 {
		return ""
	}
	dir := filepath.Join(parent, cgroupPrefix+parts[0]+"-"+parts[1], parts[2])
	if os.MkdirAll(dir, 0o700) != nil || unix.Access(filepath.Join(dir, "cgroup.kill"), unix.W_OK) != nil {
		_ = os.Remove(dir)
		return ""
	}
	return dir
}

// startInCgroup makes a child start in a group. done must be called when it has started.
func startInCgroup(group string, attributes *syscall.SysProcAttr) (done func()) {
	f, err := os.Open(group)
	if group == "" || err != nil {
		return func() {}
	}
	attributes.UseCgroupFD, attributes.CgroupFD = true, int(f.Fd())
	return func() { _ = f.Close() }
}

// leaveCgroup reports whether attributes made a child start in a group, and undoes that.
func leaveCgroup(attributes *syscall.SysProcAttr) bool {
	used := attributes.UseCgroupFD
	attributes.UseCgroupFD, attributes.CgroupFD = false, 0
	return used
}

func isCgroupPopulated(group string) bool {
	if group == "" {
		return false
	}
	events, _ := os.ReadFile(filepath.Join(group, "cgroup.events"))
	return bytes.Contains(events, []byte("populated 1"))
}

func killCgroup(group string) {
	if group != "" {
		_ = os.WriteFile(filepath.Join(group, "cgroup.kill"), []byte("1"), 0)
	}
}

// endCgroups kills and removes the groups of runs that match, below the group of this process.
func endCgroups(pattern string, except ...string) {
	found, _ := filepath.Glob(filepath.Join(cgroupParent(), cgroupPrefix+pattern))
	for _, dir := range found {
		if len(except) == 0 || filepath.Base(dir) != cgroupPrefix+except[0] {
			endCgroup(dir)
		}
	}
}

func endCgroup(dir string) {
	killCgroup(dir)
	for deadline := time.Now().Add(killTimeout); isCgroupPopulated(dir) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	inner, _ := filepath.Glob(filepath.Join(dir, "*", "cgroup.procs"))
	for _, file := range inner {
		_ = unix.Rmdir(filepath.Dir(file))
	}
	_ = unix.Rmdir(dir)
}
