//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func init() { roles["old kernel"] = oldKernel }

// oldKernel runs the program as on a kernel whose version of Landlock is LANDLOCK_VERSION: a
// seccomp filter passes each question for the version to this process, which answers it. The
// program and its children inherit the filter.
func oldKernel() {
	version, err := strconv.Atoi(os.Getenv("LANDLOCK_VERSION"))
	check := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "old kernel:", err)
			os.Exit(1)
		}
	}
	check(err)
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // number of the system call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_LANDLOCK_CREATE_RULESET, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 32}, // its third argument
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.LANDLOCK_CREATE_RULESET_VERSION, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	check(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		check(errno)
	}
	go func() {
		for {
			var question struct {
				id   uint64
				rest [72]byte
			}
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&question))); errno != 0 {
				continue // the process that asked has ended
			}
			answer := struct {
				id           uint64
				value        int64
				errno, flags int32
			}{id: question.id, value: int64(version)}
			if version == 0 {
				answer.errno = -int32(unix.ENOSYS)
			}
			unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
		}
	}()
	cmd := exec.Command(binary, os.Args[1:]...)
	cmd.Env = append(os.Environ(), "DRAWBRIDGE_E2E_ROLE=")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	check(cmd.Start())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		for range signals {
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}()
	cmd.Wait()
	os.Exit(cmd.ProcessState.ExitCode())
}

func TestOlderKernelsAreReportedAndServersRunOrAreRefused(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]map[string]string{ // by server: its state, and the end of what is said
		0: {
			"on":      "crashed: the kernel does not support Landlock",
			"network": "crashed: the kernel does not support Landlock",
			"ports":   "crashed: the kernel does not support Landlock",
			"best":    "running: the kernel does not support Landlock",
		},
		3: {
			"on":      "running: signals and connections through abstract sockets to other processes (requires Linux 6.12)",
			"network": "running: signals and connections through abstract sockets to other processes (requires Linux 6.12)",
			"ports":   "crashed: restrict TCP connections to certain ports (requires Linux 6.7)",
			"best":    "running: restrict TCP connections to certain ports (requires Linux 6.7)",
		},
	} {
		t.Run(fmt.Sprintf("version %d", version), func(t *testing.T) {
			t.Parallel()
			entry := func(sandbox any) object {
				return object{"command": binary, "args": []string{"demo-server"}, "sandbox": sandbox}
			}
			d := newDaemon(t)
			d.program = os.Args[0]
			d.write("config.jsonc", object{"mcpServers": object{
				"on": entry("on"), "network": entry(object{"network": "none"}), "ports": entry(object{"network": "none", "ports": []int{443}}),
				"best": entry(object{"network": "none", "ports": []int{443}, "bestEffort": true}),
			}})
			d.launch("DRAWBRIDGE_E2E_ROLE=old kernel", "LANDLOCK_VERSION="+strconv.Itoa(version))
			eventually.Complete(t, limit(20e9), func() string {
				var list struct {
					Items []struct {
						ID, State, Reason string
						Warnings          []string
					}
				}
				d.get("/api/v1/servers", &list)
				for _, s := range list.Items {
					state, text, _ := strings.Cut(want[s.ID], ": ")
					if said := s.Reason + strings.Join(s.Warnings, "\n"); s.State != state || !strings.Contains(said, text) {
						return fmt.Sprintf("%s is %s: %s", s.ID, s.State, said)
					}
				}
				return ""
			})
			status := d.cli(0, "sandbox", "best")
			for line := range strings.Lines(status) {
				if enforced := strings.Contains(line, " yes "); strings.Contains(line, "TCP connections ") && enforced || strings.Contains(line, "running files") && enforced != (version > 0) {
					t.Errorf("status: %s", line)
				}
			}
			if (version == 0) != strings.Contains(status, "no restrictions are enforced") || version == 0 && strings.Contains(status, "TCP to port") {
				t.Errorf("status says what is confined, and that nothing is: %s", status)
			}
			t.Log(status)
		})
	}
}
