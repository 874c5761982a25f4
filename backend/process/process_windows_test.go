package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

const windowsRole = "DRAWBRIDGE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(windowsRole) {
	case "":
		os.Exit(m.Run())
	case "wait": // ignores end of input
		waitToBeEnded()
	case "tree": // starts another process through cmd.exe, and waits
		cmd := exec.Command("cmd.exe", "/c", os.Args[0])
		cmd.Env = append(os.Environ(), windowsRole+"=wait")
		_ = cmd.Start()
		waitToBeEnded()
	case "daemon": // starts a tree with a Spawner, prints its pids, and waits to be killed
		s := NewSpawner(Options{})
		p, err := s.Start(spec("tree"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for {
			if u, err := p.Usage(); err == nil && len(u.Tree) >= 3 {
				for _, one := range u.Tree {
					fmt.Println(one.PID)
				}
				fmt.Println("ready")
				waitToBeEnded()
			}
			time.Sleep(pollInterval)
		}
	}
}

// waitToBeEnded does not use select {}, because Go ends a program in which nothing can happen.
func waitToBeEnded() { time.Sleep(time.Hour) }

func spec(role string) Spec {
	return Spec{Name: role, Path: os.Args[0], Env: append(os.Environ(), windowsRole+"="+role)}
}

func living(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h)
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == 259 // STILL_ACTIVE
}

func requireGone(t *testing.T, pids []int) {
	t.Helper()
	eventually.True(t, fmt.Sprintf("none of %v lives on", pids), func() bool { return !slices.ContainsFunc(pids, living) })
}

func TestJobObjectKillsTreeOfTerminatedDaemon(t *testing.T) {
	daemon := exec.Command(os.Args[0])
	daemon.Env = append(os.Environ(), windowsRole+"=daemon")
	out, err := daemon.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, daemon.Start())
	var text strings.Builder
	for buf := make([]byte, 256); !strings.Contains(text.String(), "ready"); {
		n, err := out.Read(buf)
		text.Write(buf[:n])
		require.NoError(t, err)
	}
	var pids []int
	for line := range strings.Lines(text.String()) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
			pids = append(pids, pid)
		}
	}
	require.Truef(t, len(pids) >= 3, "a tree of %v", pids)
	_ = daemon.Process.Kill() // TerminateProcess, so no cleanup code runs
	_ = daemon.Wait()
	requireGone(t, pids)
}

func TestStopKillsWholeTree(t *testing.T) {
	s := NewSpawner(Options{})
	defer s.Close(context.Background())
	tree := spec("tree")
	tree.Stop = StopTimeouts{CloseStdin: 50 * time.Millisecond, Term: 50 * time.Millisecond}
	p, err := s.Start(tree)
	require.NoError(t, err)
	var pids []int
	eventually.True(t, "a tree of three processes", func() bool {
		u, err := p.Usage()
		if err != nil {
			return false
		}
		pids = pids[:0]
		for _, one := range u.Tree {
			pids = append(pids, one.PID)
		}
		return len(pids) >= 3
	})
	require.NoError(t, p.Stop(t.Context()))
	requireGone(t, pids)
}

func TestStopEndsProcessThatDoesNotReadItsInput(t *testing.T) {
	s := NewSpawner(Options{})
	defer s.Close(context.Background())
	deaf := spec("wait")
	deaf.Stop = StopTimeouts{CloseStdin: 50 * time.Millisecond, Term: 50 * time.Millisecond}
	p, err := s.Start(deaf)
	require.NoError(t, err)
	written := make(chan error, 1)
	var amount atomic.Int64
	before := int64(0)
	go func() {
		for {
			n, err := p.Stdin().Write(make([]byte, 1<<10))
			if amount.Add(int64(n)); err != nil {
				written <- err
				return
			}
		}
	}()
	still := 0
	eventually.True(t, "the pipe is full: nothing more is written", func() bool {
		if now := amount.Load(); now == 0 || now != before {
			before, still = now, 0
			return false
		}
		still++
		return still > 10
	})
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(context.Background()) }()
	assert.NoError(t, eventually.Receive(t, 20*time.Second, "it does not stop", stopped))
	eventually.Receive(t, 5*time.Second, "the write does not end", written)
}

func TestScriptsAreResolvedByPATHEXTWithCheckedArguments(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "npx.cmd")
	require.NoError(t, os.WriteFile(script, []byte("@echo off\r\nexit /b 3\r\n"), 0o700))
	t.Setenv("PATHEXT", ".EXE;.CMD")
	got, err := Resolve("npx", dir)
	require.Truef(t, err == nil && strings.EqualFold(got, script), "%q, %v", got, err)
	for _, arg := range []string{"a&calc", "%PATH%", "!x!", "a|b", "a^b", "<a", `"`, "a\nb"} {
		assert.Errorf(t, (Spec{Name: "x", Path: got, Args: []string{arg}}).validate(), "%q is passed to the command interpreter", arg)
	}
	assert.NoError(t, (Spec{Name: "x", Path: got, Args: []string{"-y", "@scope/name@1.2.3", "C:\\Program Files"}}).validate())
}

func TestConfigFoldersArePassedToChildren(t *testing.T) {
	t.Setenv("APPDATA", `C:\settings`)
	t.Setenv("MY_TOKEN", "secret")
	env := strings.Join(BaseEnv(), "\n")
	assert.Contains(t, env, `APPDATA=C:\settings`)
	assert.NotContains(t, env, "MY_TOKEN")
}

// The variable is usually named Path, and servers are found in the one that the registry has now.
func TestPathIsFoundWhateverItsCase(t *testing.T) {
	env := asMap([]string{"Path=a", "PathExt=b"})
	SetVariable(env, "PATHEXT", "c")
	assert.True(t, len(env) == 2 && env["PATH"] == "a" && env["PathExt"] == "c", env)
	key, err := registry.OpenKey(registry.CURRENT_USER, "Environment", registry.SET_VALUE)
	require.NoError(t, err)
	defer key.Close()
	dir := t.TempDir()
	require.NoError(t, key.SetStringValue("Path", dir))
	defer key.DeleteValue("Path")
	now, err := readLoginEnv(0)
	all := filepath.SplitList(now["PATH"])
	assert.Truef(t, err == nil && slices.Contains(all, dir) && slices.Contains(all, filepath.SplitList(os.Getenv("PATH"))[0]), "%v, %q", err, all)
}
