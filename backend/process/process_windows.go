package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	gops "github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sys/windows"
)

const watchdogHelps = false

// ours is the job that we enter ourselves before the first child exists, so that
// every child is born in it; the kernel ends them all when our handle closes,
// even when we are terminated. It is never closed by us. What Launch starts
// breaks away from it.
var ours = sync.OnceValue(func() error {
	job, err := newJob(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK)
	if err != nil {
		return err
	}
	return windows.AssignProcessToJobObject(job, windows.CurrentProcess())
})

func becomeGuardian() error { return ours() }

func newJob(limits uint32) (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = limits
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// tree is a job nested in ours that holds one child and all it starts. The child
// is created suspended, put into the job, and only then let go, so that nothing
// it starts can be born outside.
type tree struct {
	mu  sync.Mutex // guards job
	job windows.Handle
	pid uint32
}

func newTree(string) (*tree, error) {
	job, err := newJob(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)
	if err != nil {
		return nil, fmt.Errorf("cannot create job: %w", err)
	}
	return &tree{job: job}, nil
}

func (t *tree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
	}
}

func (t *tree) adopt(child *os.Process) error {
	t.pid = uint32(child.Pid)
	handle, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, t.pid)
	if err != nil {
		return fmt.Errorf("cannot open new process: %w", err)
	}
	defer windows.CloseHandle(handle)
	if err := windows.AssignProcessToJobObject(t.job, handle); err != nil {
		return fmt.Errorf("cannot put new process into its job: %w", err)
	}
	return resume(t.pid)
}

// resume lets the only thread of a suspended process run.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("cannot list threads: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return fmt.Errorf("cannot open thread of new process: %w", err)
		}
		_, err = windows.ResumeThread(thread)
		windows.CloseHandle(thread)
		if err != nil {
			return fmt.Errorf("cannot let new process run: %w", err)
		}
		return nil
	}
	return errors.New("cannot let new process run: it has no thread")
}

// terminate asks with Ctrl-Break, which console programs may handle; without a
// console of its own a program does not hear it, and kill follows.
func (t *tree) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, t.pid)
}

func (t *tree) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		_ = windows.TerminateJobObject(t.job, 1)
	}
}

func (t *tree) alive() int { return len(t.pids()) }

// basicProcessIDList is JOBOBJECT_BASIC_PROCESS_ID_LIST with room for many.
type basicProcessIDList struct {
	assigned, listed uint32
	ids              [1024]uintptr
}

func (t *tree) pids() []uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return nil
	}
	var list basicProcessIDList
	err := windows.QueryInformationJobObject(t.job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && !errors.Is(err, windows.ERROR_MORE_DATA) {
		return nil
	}
	return slices.Clone(list.ids[:min(int(list.listed), len(list.ids))])
}

func (t *tree) note()             {}
func (t *tree) startedAt() uint64 { return 0 }

// release closes the job, which ends what might be left in it.
func (t *tree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		windows.CloseHandle(t.job)
		t.job = 0
	}
}

// Usage measures the tree now. It fails once the process has ended.
func (p *Process) Usage() (Usage, error) {
	select {
	case <-p.done:
		return Usage{}, errors.New("cannot measure: the process has ended")
	default:
	}
	var u Usage
	var cpu time.Duration
	for _, pid := range p.tree.pids() {
		member, err := gops.NewProcess(int32(pid))
		if err != nil {
			continue
		}
		proc := Proc{PID: int(pid)}
		proc.Name, _ = member.Name()
		if parent, err := member.Ppid(); err == nil {
			proc.PPID = int(parent)
		}
		if memory, err := member.MemoryInfo(); err == nil {
			proc.RSS = int64(memory.RSS)
		}
		if times, err := member.Times(); err == nil {
			cpu += time.Duration((times.User + times.System) * float64(time.Second))
		}
		u.RSS += proc.RSS
		u.Tree = append(u.Tree, proc)
	}
	slices.SortFunc(u.Tree, func(a, b Proc) int {
		switch p.pid {
		case a.PID:
			return -1
		case b.PID:
			return 1
		}
		return a.PID - b.PID
	})
	u.CPU = p.sample(cpu, time.Now())
	return u, nil
}

func signalOf(*os.ProcessState) string { return "" }

// direct is s without the command interpreter where it would only be in the way.
func (s Spec) direct() Spec {
	s.Path, s.Args = withoutCmd(s.Path, s.Args, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}, func() string {
		for _, kv := range s.Env {
			if name, path, _ := strings.Cut(kv, "="); strings.EqualFold(name, "PATH") {
				node, _ := Resolve("node.exe", path)
				return node
			}
		}
		return ""
	})
	return s
}

// checkArgs refuses arguments that cmd.exe would interpret: a .cmd or .bat file
// runs through it, and no quoting is safe from it.
func checkArgs(path string, args []string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cmd", ".bat":
	default:
		return nil
	}
	for _, arg := range args {
		if i := strings.IndexAny(arg, "%!^&|<>\"\r\n"); i >= 0 {
			return fmt.Errorf("cannot start %s: an argument holds %q, which the command interpreter would act on", path, arg[i])
		}
	}
	return nil
}

// readAvailable has nothing to read: pipes take no deadline here, and the job has ended
// whoever could hold the other side.
func readAvailable(*os.File, []byte) (int, error) { return 0, nil }

func missingInterpreter(string, error) bool { return false }

func bootID() string { return "windows" }

// endOrphansOf has nothing to do: the kernel ended everything with the job.
func endOrphansOf(string, string, []ledgerEntry) []Orphan { return nil }

func (s *Spawner) endRun() {}

type reaper struct{}

func newReaper(func(pid, pgid int) (direct, group bool)) *reaper { return &reaper{} }

func (*reaper) run(quit <-chan struct{}) { <-quit }

// RunWatchdog is for platforms where NeedsWatchdog can be true.
func RunWatchdog([]string, func()) (exitCode int) {
	fmt.Fprintln(os.Stderr, "drawbridge: there is no watchdog on Windows")
	return 1
}

func lifeline(int) <-chan struct{} { return nil }

// hearsReady: handles are not handed on by number here.
const hearsReady = false

// detachments give the child a console of its own that nobody sees, so that it outlives
// ours, and take it out of our job. A job that somebody else put us into, such as an
// editor's, may forbid the latter: then the child stays in it.
var detachments = []func(*exec.Cmd){
	detached(windows.CREATE_BREAKAWAY_FROM_JOB),
	detached(0),
}

func detached(more uint32) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: more | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	}
}

// readLoginEnv is our own environment: Windows gives a desktop start the same one.
func readLoginEnv(time.Duration) (map[string]string, error) { return ownEnv(), nil }

// executable finds path as it is or with one of the extensions of PATHEXT.
func executable(path string) (string, error) {
	extensions := strings.Split(strings.ToLower(os.Getenv("PATHEXT")), ";")
	if len(extensions) == 1 {
		extensions = []string{".com", ".exe", ".bat", ".cmd"}
	}
	candidates := make([]string, 0, len(extensions)+1)
	if slices.Contains(extensions, strings.ToLower(filepath.Ext(path))) {
		candidates = append(candidates, path)
	}
	for _, extension := range extensions {
		candidates = append(candidates, path+extension)
	}
	for _, candidate := range candidates {
		info, err := os.Stat(candidate)
		if err == nil && !info.IsDir() {
			return candidate, nil
		}
		if err != nil && errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("%w: %s", ErrNotExecutable, candidate)
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNotFound, path)
}
