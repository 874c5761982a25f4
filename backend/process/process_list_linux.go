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

// processInfo is one process as the system sees it. pid and start together name it for
// as long as the machine runs.
type processInfo struct {
	pid, ppid, pgid, sid int
	start                uint64 // clock ticks since boot
	name                 string
	zombie               bool
	rss                  int64 // bytes
	cpu                  time.Duration
}

// ticks is USER_HZ, which is 100 on every Linux that Go runs on.
const ticks = 100

// scanPasses is how often one scan lists the processes at most.
const scanPasses = 4

// listProcesses lists all processes. One that ends meanwhile is left out, but what it forked
// is not: the list is made again until it holds nothing new, and the youngest are read
// first. Otherwise a process that is replaced by its child every few milliseconds
// would be in no scan of a machine with thousands of processes.
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

// listDescendants lists the descendants of this process. It costs nothing for the other
// processes of the machine, and is soon enough for one that lives for milliseconds:
// what loses its parent becomes our own child. Where the kernel does not list children,
// it is scan.
func listDescendants() []processInfo {
	self := os.Getpid()
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return listProcesses()
	}
	var all []processInfo
	met := make(map[int]bool)
	for range scanPasses {
		news := false
		asked := make(map[int]bool)
		for queue := []int{self}; len(queue) > 0; queue = queue[1:] {
			if asked[queue[0]] {
				continue
			}
			asked[queue[0]] = true
			for _, pid := range children(queue[0]) {
				queue = append(queue, pid)
				if met[pid] {
					continue
				}
				met[pid], news = true, true
				if p, ok := readProcess(pid); ok {
					all = append(all, p)
				}
			}
		}
		if !news {
			break
		}
	}
	return all
}

// children lists those of all threads of pid. It may miss one while others exit.
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

// readProcess reads one process.
func readProcess(pid int) (processInfo, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processInfo{}, false
	}
	// The name stands in parentheses and may hold anything, parentheses too.
	open, shut := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 0 || shut < open {
		return processInfo{}, false
	}
	f := strings.Fields(string(raw[shut+1:]))
	if len(f) < 22 {
		return processInfo{}, false
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	return processInfo{
		pid:    pid,
		name:   string(raw[open+1 : shut]),
		zombie: f[0] == "Z" || f[0] == "X",
		ppid:   int(number(1)),
		pgid:   int(number(2)),
		sid:    int(number(3)),
		cpu:    time.Duration(number(11)+number(12)) * time.Second / ticks,
		start:  uint64(number(19)),
		rss:    number(21) * int64(os.Getpagesize()),
	}, true
}

// variable reads one variable of the environment a process was started with.
// It is "" for the processes of other users and for those that wiped it.
func variable(pid int, name string) string {
	value, _ := inEnvironment(pid, name)
	return value
}

// inEnvironment is variable, and whether there was an environment to look into: it is
// empty for a moment while a process becomes another program.
func inEnvironment(pid int, name string) (value string, there bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil || len(raw) == 0 {
		return "", false
	}
	return valueIn(raw, name), true
}

func valueIn(environ []byte, name string) string {
	prefix := []byte(name + "=")
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(kv, prefix); ok {
			return string(value)
		}
	}
	return ""
}

// signalProcess sends a signal to exactly the process that was seen, not to one
// that got the same id since.
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

// sameUser reports whether pid runs as we do.
func sameUser(pid int) bool {
	var st unix.Stat_t
	return unix.Stat("/proc/"+strconv.Itoa(pid), &st) == nil && int(st.Uid) == os.Geteuid()
}

// becomeGuardian makes us the parent of every descendant that loses its own.
func becomeGuardian() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// marksFallToUs says that whatever carries our mark is our descendant, so that
// nothing else needs to be searched.
const marksFallToUs = true

func bootID() string {
	raw, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(raw))
}

// programOf is the executable that a process runs.
func programOf(pid int) string {
	path, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return ""
	}
	return path
}
