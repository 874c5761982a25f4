package process

import (
	"bytes"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// processInfo describes a process. pid and start together identify it until the next reboot.
type processInfo struct {
	pid, ppid, pgid, sid int
	start                uint64 // clock ticks since boot
	name                 string
	zombie               bool
	ended                bool  // a zombie whose threads have ended, too
	rss                  int64 // bytes
	cpu                  time.Duration
}

// ticks is USER_HZ, which is 100 on every Linux that Go runs on.
const ticks = 100

// scanPasses is the maximum number of passes over /proc for one list.
const scanPasses = 4

// listProcesses lists all processes. A process that exits meanwhile is not in the list, but
// processes that it forked are: listProcesses repeats its pass until there are no new processes,
// and reads the newest first. Otherwise no list on a machine with thousands of processes would
// contain a process that replaces itself by a child every few milliseconds.
func listProcesses() []processInfo {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	var all []processInfo
	var met map[string]bool
	for range scanPasses {
		names, _ := dir.Readdirnames(-1)
		if met == nil {
			all, met = make([]processInfo, 0, len(names)), make(map[string]bool, len(names))
		}
		news := false
		for _, name := range slices.Backward(names) {
			if met[name] {
				continue
			}
			met[name] = true
			if pid, err := strconv.Atoi(name); err == nil {
				news = true
				if p, ok := readProcess(pid); ok {
					all = append(all, p)
				}
			}
		}
		if !news {
			break
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			break
		}
	}
	return all
}

// listDescendants lists the descendants of this process. Its cost does not depend on the other
// processes of the machine, and it is fast enough for processes that live for milliseconds,
// because orphans become our own children. If the kernel does not list children, it is
// listProcesses.
func listDescendants() []processInfo {
	self := os.Getpid()
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return listProcesses()
	}
	var all []processInfo
	met := make(map[int]bool)
	ended := make(map[int]bool) // has no children; a process that forks leaves hundreds of zombies per second
	for range scanPasses {
		news := false
		asked := make(map[int]bool)
		for queue := []int{self}; len(queue) > 0; queue = queue[1:] {
			if asked[queue[0]] {
				continue
			}
			asked[queue[0]] = true
			for _, pid := range children(queue[0]) {
				if !met[pid] {
					met[pid], news = true, true
					if p, ok := readProcess(pid); ok {
						all = append(all, p)
						ended[pid] = p.ended
					}
				}
				if !ended[pid] {
					queue = append(queue, pid)
				}
			}
		}
		if !news {
			break
		}
	}
	return all
}

// children returns the children of all threads of pid. It may miss one while others exit.
func children(pid int) (list []int) {
	tasks := "/proc/" + strconv.Itoa(pid) + "/task"
	dir, err := os.Open(tasks)
	if err != nil {
		return nil
	}
	defer dir.Close()
	threads, _ := dir.Readdirnames(-1)
	for _, thread := range threads {
		raw, err := os.ReadFile(tasks + "/" + thread + "/children")
		if err != nil {
			continue
		}
		for text := range strings.FieldsSeq(string(raw)) {
			if child, err := strconv.Atoi(text); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}

func readProcess(pid int) (processInfo, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processInfo{}, false
	}
	// The name is in parentheses and may itself contain parentheses.
	open, shut := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || shut < open {
		return processInfo{}, false
	}
	f := strings.Fields(string(raw[shut+1:]))
	if len(f) < 22 {
		return processInfo{}, false
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	zombie := f[0] == "Z" || f[0] == "X"
	return processInfo{
		pid:    pid,
		name:   string(raw[open+1 : shut]),
		zombie: zombie,
		ended:  zombie && number(17) <= 1,
		ppid:   int(number(1)),
		pgid:   int(number(2)),
		sid:    int(number(3)),
		cpu:    time.Duration(number(11)+number(12)) * time.Second / ticks,
		start:  uint64(number(19)),
		rss:    number(21) * int64(os.Getpagesize()),
	}, true
}

// environVariable returns one variable of the environment with which a process was started. It
// returns "" for processes of other users and for those that erased it.
func environVariable(pid int, name string) string {
	value, _ := lookupEnviron(pid, name)
	return value
}

// lookupEnviron is variable and also reports whether the environment was readable. It is empty
// for a moment during an exec.
func lookupEnviron(pid int, name string) (value string, there bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(raw) == 0 {
		return "", false
	}
	return environValue(raw, name), true
}

func environValue(environ []byte, name string) string {
	prefix := []byte(name + "=")
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, prefix); ok {
			return string(value)
		}
	}
	return ""
}

// signalProcess sends a signal to p, unless its pid has been reused.
func signalProcess(p processInfo, sig unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if now, ok := readProcess(p.pid); ok && now.start == p.start {
			_ = unix.Kill(p.pid, sig)
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := readProcess(p.pid); ok && now.start == p.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

func sameUser(pid int) bool {
	var st unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &st) == nil && int(st.Uid) == os.Geteuid()
}

// becomeSubreaper makes this process the child subreaper, and so the parent of every orphaned
// descendant (PR_SET_CHILD_SUBREAPER, prctl(2)).
func becomeSubreaper() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// markedAreDescendants is true: every process with our mark is our descendant, so no others have
// to be searched.
const markedAreDescendants = true

func bootID() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw))
}

// executableOf returns the path of the executable of a process, or "".
func executableOf(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return path
}

// measure does nothing on Linux, where listProcesses reads memory and CPU time as well.
func measure(*processInfo) {}
