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
	"golang.org/x/sys/windows/registry"
)

const watchdogNeeded = false

// ownJob assigns this process to a Job Object before the first child exists, so that every child is
// created in it. The kernel ends all of them when our handle is closed, even if we are
// terminated; we never close it. Programs that Launch starts break away from the job.
var ownJob = sync.OnceValue(func() error {
	job, err := newJob(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_BREAKAWAY_OK)
	if err != nil {
		return err
	}
	return windows.AssignProcessToJobObject(job, windows.CurrentProcess())
})

func becomeSubreaper() error { return ownJob() }

// closeInheritedOnExec does nothing: a process inherits only the handles that are passed to it.
func closeInheritedOnExec() error { return nil }

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

// tree is a Job Object, nested in ours, for one child and its descendants. The child is created
// suspended, assigned to the job and then resumed, so that none of its descendants can be created
// outside the job.
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
		return fmt.Errorf("cannot assign new process to its job: %w", err)
	}
	return resume(t.pid)
}

// resume resumes the only thread of a suspended process.
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
			return fmt.Errorf("cannot resume new process: %w", err)
		}
		return nil
	}
	return errors.New("cannot resume new process: it has no thread")
}

// terminate sends Ctrl-Break, which console programs may handle. A program without a console does
// not receive it and is killed later.
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

func (t *tree) countAlive() int { return len(t.pids()) }

// basicProcessIDList is JOBOBJECT_BASIC_PROCESS_ID_LIST with room for 1024 ids.
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

func (t *tree) recordMembers()             {}
func (t *tree) launch(cmd *exec.Cmd) error { return cmd.Start() }
func (t *tree) groupPath() string          { return "" }
func (t *tree) startedAt() uint64          { return 0 }

// release closes the job, which ends all processes that are left in it.
func (t *tree) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job != 0 {
		windows.CloseHandle(t.job)
		t.job = 0
	}
}

// Usage measures the resource usage of the process tree. It returns an error after the process
// has exited.
func (p *Process) Usage() (Usage, error) {
	select {
	case <-p.done:
		return Usage{}, errors.New("cannot measure resource usage: the process has exited")
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

// withoutCmdWrapper returns s without cmd.exe if that is not needed; see cmdCommand and bypassNpmBatchFile.
func (s Spec) withoutCmdWrapper() Spec {
	resolve := func(command string) string {
		path, _ := Resolve(command, asMap(s.Env)["PATH"])
		return path
	}
	path, args := s.Path, s.Args
	if command, rest, ok := cmdCommand(path, args); ok {
		path, args = resolve(command), rest
	}
	program, args := bypassNpmBatchFile(path, args, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	}, func() string { return resolve("node.exe") })
	if program != path {
		s.Path, s.Args = program, args
	}
	return s
}

// checkArgs reports arguments that cmd.exe would interpret. It runs .cmd and .bat files, and no
// quoting is safe from it.
func checkArgs(path string, args []string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".cmd", ".bat":
	default:
		return nil
	}
	for _, arg := range args {
		if i := strings.IndexAny(arg, "%!^&|<>\"\r\n"); i >= 0 {
			return fmt.Errorf("cannot start %s: an argument contains %q, which has a special meaning for the command interpreter", path, arg[i])
		}
	}
	return nil
}

// readAvailable returns nothing: pipes on Windows have no deadlines, and the job has ended every
// process that could hold the write end.
func readAvailable(*os.File, []byte) (int, error) { return 0, nil }

func missingInterpreter(string, error) bool { return false }

func bootID() string { return "windows" }

// endOrphansOf does nothing: the kernel ended all processes with the job.
func endOrphansOf(string, string, []ledgerEntry) []Orphan { return nil }

func (s *Spawner) endRun() {}

type reaper struct{}

func newReaper(func(pid, pgid int) (direct, group bool)) *reaper { return &reaper{} }

func (*reaper) run(quit <-chan struct{}) { <-quit }

// Reexec is never needed on Windows, where the file of a running program cannot be replaced.
func Reexec(string) error { return errors.ErrUnsupported }

// RunWatchdog is never needed on Windows; see NeedsWatchdog.
func RunWatchdog([]string, func()) (exitCode int) {
	fmt.Fprintln(os.Stderr, "drawbridge: there is no watchdog on Windows")
	return 1
}

func watchLifeline(int) <-chan struct{} { return nil }

// supportsReadyPipe is false: a child cannot inherit a handle by number.
const supportsReadyPipe = false

// detachModes are the ways to detach a child, tried in order. The child gets its own hidden
// console, so that it outlives ours, and breaks away from our job. A job in which we run, such as
// an editor's, may forbid that; the child then stays in it.
var detachModes = []func(*exec.Cmd){
	detached(windows.CREATE_BREAKAWAY_FROM_JOB),
	detached(0),
}

func detached(more uint32) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: more | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW}
	}
}

// readLoginEnv returns our own environment with the PATH that a program started from the desktop gets now,
// which an installer may have changed since we started. Our own folders come last.
func readLoginEnv(time.Duration) (map[string]string, error) {
	env := ownEnv()
	var path []string
	for _, place := range []struct {
		root registry.Key
		path string
	}{
		{registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Control\Session Manager\Environment`},
		{registry.CURRENT_USER, "Environment"},
	} {
		key, err := registry.OpenKey(place.root, place.path, registry.QUERY_VALUE)
		if err != nil {
			continue
		}
		if value, _, err := key.GetStringValue("Path"); err == nil {
			if expanded, err := registry.ExpandString(value); err == nil {
				path = append(path, expanded)
			}
		}
		key.Close()
	}
	env["PATH"] = strings.Join(append(path, env["PATH"]), string(filepath.ListSeparator))
	return env, nil
}

// resolveExecutableFile returns path, or path with one of the extensions in PATHEXT, whichever
// exists.
func resolveExecutableFile(path string) (string, error) {
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
