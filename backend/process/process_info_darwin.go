package process

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
	"time"

	gops "github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sys/unix"
)

// processInfo describes a process. pid and start together identify it until the next reboot.
type processInfo struct {
	pid, ppid, pgid, sid int
	start                uint64 // microseconds since 1970
	name                 string
	zombie               bool
	rss                  int64 // bytes
	cpu                  time.Duration
}

const zombieState = 5 // SZOMB of sys/proc.h

// listProcesses lists the processes of this user. The table contains neither sessions nor memory
// nor CPU time; measure adds the last two.
func listProcesses() []processInfo {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.uid", os.Geteuid())
	if err != nil {
		return nil
	}
	all := make([]processInfo, 0, len(table))
	for i := range table {
		all = append(all, infoOf(&table[i]))
	}
	return all
}

// listDescendants is listProcesses on macOS: without a subreaper, descendants may have any
// parent.
func listDescendants() []processInfo { return listProcesses() }

func infoOf(k *unix.KinfoProc) processInfo {
	name := k.Proc.P_comm[:]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return processInfo{
		pid:    int(k.Proc.P_pid),
		ppid:   int(k.Eproc.Ppid),
		pgid:   int(k.Eproc.Pgid),
		start:  uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		name:   string(name),
		zombie: k.Proc.P_stat == zombieState,
	}
}

func readProcess(pid int) (processInfo, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return processInfo{}, false
	}
	return infoOf(k), true
}

// measure adds memory and CPU time, which are not in the process table.
func measure(p *processInfo) {
	process, err := gops.NewProcess(int32(p.pid))
	if err != nil {
		return
	}
	if memory, err := process.MemoryInfo(); err == nil {
		p.rss = int64(memory.RSS)
	}
	if times, err := process.Times(); err == nil {
		p.cpu = time.Duration((times.User + times.System) * float64(time.Second))
	}
}

// environVariable returns one variable of the environment with which a process was started. The
// layout of kern.procargs2 is: the number of arguments, the executable, zeros, the arguments, the
// environment.
func environVariable(pid int, name string) string {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return ""
	}
	count := int(binary.LittleEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	prefix := []byte(name + "=")
	i := 0
	for s := range bytes.SplitSeq(rest, []byte{0}) {
		if i++; i <= count {
			continue
		}
		if value, ok := bytes.CutPrefix(s, prefix); ok {
			return string(value)
		}
	}
	return ""
}

// lookupEnviron is variable. On macOS it does not report whether the environment was readable.
func lookupEnviron(pid int, name string) (value string, there bool) {
	return environVariable(pid, name), false
}

// signalProcess sends a signal to p, unless its pid has been reused. Between the check and the
// signal remains a race of microseconds.
func signalProcess(p processInfo, sig unix.Signal) {
	if now, ok := readProcess(p.pid); ok && now.start == p.start {
		_ = unix.Kill(p.pid, sig)
	}
}

// sameUser is always true, because listProcesses lists only processes of this user.
func sameUser(int) bool { return true }

// becomeSubreaper does nothing: macOS has no child subreaper.
func becomeSubreaper() error { return nil }

// markedAreDescendants is false: launchd adopts orphans, so they are found only by their mark.
const markedAreDescendants = false

func bootID() string {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(boot.Sec, 10)
}

// executableOf returns the path of the executable of a process, or "".
func executableOf(pid int) string {
	process, err := gops.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	path, _ := process.Exe()
	return path
}
