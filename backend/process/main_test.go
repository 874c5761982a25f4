//go:build linux

package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// The test binary also runs as every process of the tests. The variable ACT contains the role.
const act = "DRAWBRIDGE_TEST_ACT"

// quickExit keeps the race detector from delaying the exit of a process by a second.
const quickExit = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if role := os.Getenv(act); role != "" {
		os.Exit(runRole(role))
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// runRole runs a role of the test binary. A role is a path such as "sh>sh>unkillable": each part starts
// the next one and waits for it.
func runRole(role string) int {
	first, rest, more := strings.Cut(role, ">")
	switch first {
	case "echo": // a well-behaved server: exits at end of input
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	case "exit3":
		return 3
	case "noisy": // last line without a newline
		fmt.Fprint(os.Stderr, "line one\nlast words")
		return 1
	case "flood":
		chunk := strings.Repeat("x", 99) + "\n"
		for range 100_000 {
			fmt.Fprint(os.Stderr, chunk)
		}
		fmt.Println("flooded")
		return 0
	case "env":
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
		return 0
	case "unkillable": // ignores end of input and every signal except SIGKILL
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
		ready()
		forever()
	case "polite": // ignores only end of input
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		ready()
		<-stop
		return 0
	case "daemon":
		return daemonRole()
	case "watched":
		os.Setenv(act, "daemon") // for the daemon, which is this binary as well
		return RunWatchdog(nil, func() { note("after") })
	case "sweep":
		s := NewSpawner(Options{Ledger: os.Getenv("LEDGER")})
		swept, err := s.EndOrphans()
		fmt.Println(swept, err)
		return 0
	}
	if !more {
		fmt.Fprintln(os.Stderr, "no such role", role)
		return 2
	}
	child := selfCommand(rest)
	switch first {
	case "sh", "stay": // in the same process group, as sh and npx do
		child.Stdin = os.Stdin
	case "setsid":
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	case "kept": // a child with keepVariable
		child.Env = append(child.Env, keepVariable+"=1")
	case "fork": // leaves a child with its own session behind: a daemon
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return 2
		}
		return 0
	case "leave": // exits and leaves a child in the group that keeps stdout open
		if err := child.Start(); err != nil {
			return 2
		}
		awaitReady(os.Getenv("READY"), strings.Count(rest, ">")+1)
		return 7
	case "drop": // exits and leaves a child that has no relation to it
		child.Env = []string{act + "=" + rest, "READY=" + os.Getenv("READY"), quickExit}
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			return 2
		}
		awaitReady(os.Getenv("READY"), 1)
		return 0
	case "bare": // a child whose environment contains only its role
		child.Env = []string{act + "=" + rest, "READY=" + os.Getenv("READY"), quickExit}
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	ready()
	if err := child.Run(); err != nil {
		return 1
	}
	if first == "stay" { // a server that keeps running beside its daemon
		forever()
	}
	return 0
}

// forever blocks. An empty select would be detected as a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// selfCommand returns a command that runs this binary in another role.
func selfCommand(role string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(withoutVariables(os.Environ(), act), act+"="+role)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// ready creates a file named after our pid in the folder READY.
func ready() {
	if dir := os.Getenv("READY"); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, strconv.Itoa(os.Getpid())), nil, 0o600)
	}
}

func note(word string) {
	if dir := os.Getenv("NOTES"); dir != "" {
		_ = os.WriteFile(filepath.Join(dir, word), []byte(strconv.Itoa(os.Getpid())), 0o600)
	}
}

func awaitReady(dir string, n int) {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if names, _ := os.ReadDir(dir); len(names) >= n {
			return
		}
	}
}

// daemonRole is a daemon of the watchdog tests. It starts the servers in ROLES and does what a
// daemon has to do.
func daemonRole() int {
	lost, ok := UnderWatchdog()
	if !ok && os.Getenv("ALONE") == "" {
		note("unwatched")
		return 9
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP)
	s := NewSpawner(Options{Ledger: os.Getenv("LEDGER")})
	ladder := StopTimeouts{CloseStdin: 100 * time.Millisecond, Term: 200 * time.Millisecond}
	if os.Getenv("PATIENT") != "" {
		ladder = StopTimeouts{CloseStdin: 30 * time.Second, Term: 30 * time.Second}
	}
	for i, role := range strings.Split(os.Getenv("ROLES"), ",") {
		spec := Spec{
			Name: "s" + strconv.Itoa(i), Path: os.Args[0], Stop: ladder,
			Env: []string{act + "=" + role, "READY=" + os.Getenv("READY"), quickExit},
		}
		if _, err := s.Start(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 8
		}
	}
	if keep := os.Getenv("KEEP"); keep != "" {
		os.Setenv(act, keep)
		if err := Launch(nil, os.Args[0]); err != nil {
			return 8
		}
	}
	note("daemon")
	code := 0
	select {
	case <-lost:
		note("lost")
		code = 6
	case sig := <-signals:
		note(sig.String())
		code = 5
	}
	ctx, cancel := context.WithTimeout(context.Background(), max(5*time.Second, ladder.CloseStdin))
	defer cancel()
	if err := s.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 4
	}
	return code
}

// pidsIn returns the living processes that reported ready in dir.
func pidsIn(dir string) (alive []int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		pid, _ := strconv.Atoi(e.Name())
		if p, ok := readProcess(pid); ok && !p.zombie {
			alive = append(alive, pid)
		}
	}
	return alive
}

func newTestSpawner(t *testing.T) *Spawner {
	t.Helper()
	s := NewSpawner(Options{Ledger: filepath.Join(t.TempDir(), "ledger.json")})
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // skip the timeouts
		assert.NoError(t, s.Close(ctx))
	})
	return s
}

// start starts a role and waits until n of its processes are ready.
func start(t *testing.T, s *Spawner, role string, n int, change ...func(*Spec)) (*Process, string) {
	t.Helper()
	dir := t.TempDir()
	spec := Spec{
		Name: "test", Path: os.Args[0], Env: []string{act + "=" + role, "READY=" + dir, quickExit},
		Stop: StopTimeouts{CloseStdin: 200 * time.Millisecond, Term: 200 * time.Millisecond},
	}
	for _, c := range change {
		c(&spec)
	}
	p, err := s.Start(spec)
	require.NoError(t, err)
	t.Cleanup(func() { // also if the test fails
		for _, pid := range pidsIn(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	eventually.True(t, fmt.Sprintf("%d processes of %s ready", n, role), func() bool {
		entries, _ := os.ReadDir(dir)
		return len(entries) >= n
	})
	return p, dir
}

func firstLine(t *testing.T, r io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}
