//go:build linux

package dockerexec

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// buffer is a log that supports concurrent reads and writes.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func TestEchoKeepsStreamsSeparate(t *testing.T) {
	t.Parallel()
	var log buffer
	id := sleepingContainer(t, shellImage, true)
	e := run(t, Spec{Selector: Selector{Name: id}, Stderr: &log, Cmd: []string{"sh", "-c", "echo to-the-log >&2; exec cat"}, CloseStdin: time.Minute})
	line := strings.Repeat("x", 200<<10) + "\n"
	go func() { _, _ = io.WriteString(e.Stdin(), line) }()
	got, err := bufio.NewReader(e.Stdout()).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, line, got)
	assert.Truef(t, e.PID() > 1, "pid inside %d", e.PID())
	begun := time.Now()
	require.NoError(t, e.Stop(t.Context()))
	if took := time.Since(begun); took > 30*time.Second { // less than the wait for a process that does not exit
		t.Errorf("a server that ends with its input took %s to stop", took)
	}
	assert.Equal(t, 0, e.Exit().Code)
	assert.Equal(t, "to-the-log\n", log.String())
}

// Each ignores end of input and SIGTERM.
var stubborn = map[string][]string{
	"direct":     {"sh", "-c", `trap "" TERM; while :; do sleep 1; done`},
	"tree":       {"sh", "-c", `trap "" TERM; sh -c 'while :; do sleep 1; done'; :`},
	"setsid":     {"sh", "-c", `trap "" TERM; setsid sh -c 'while :; do sleep 1; done'; :`},
	"background": {"sh", "-c", `trap "" TERM; setsid sleep 1000 & while :; do sleep 1; done`},
}

func TestStopLeavesNoProcessInContainer(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	for name, cmd := range stubborn {
		t.Run(name, func(t *testing.T) {
			e := run(t, Spec{Selector: Selector{Name: id}, Cmd: cmd})
			eventually.True(t, "running", func() bool { return len(processesInside(t, id)) >= 2 })
			begun := time.Now()
			require.NoError(t, e.Stop(t.Context()))
			if took := time.Since(begun); took > 25*time.Second { // five times the expected duration
				t.Errorf("took %s", took)
			}
			assert.Equal(t, 137, e.Exit().Code)
			left := processesInside(t, id)
			assert.Truef(t, len(left) <= 0, "left: %q", left)
		})
	}
}

func TestExitIsDetectedWhileGrandchildHoldsStdout(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	e := run(t, Spec{Selector: Selector{Name: id}, Cmd: []string{"sh", "-c", "setsid sleep 1000 & sleep 0.3; exit 7"}})
	eventually.Receive(t, 30*time.Second, "exit not noticed", e.Done())
	assert.Equal(t, 7, e.Exit().Code)
	left := processesInside(t, id)
	assert.Truef(t, len(left) <= 0, "left: %q", left)
}

func TestStdoutClosesWhileEscapedProcessHoldsIt(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	e := run(t, Spec{Selector: Selector{Name: id}, Cmd: []string{"sh", "-c", "env -i setsid sleep 60 & sleep 0.3"}})
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(e.Stdout())
		ended <- err
	}()
	assert.NoError(t, eventually.Receive(t, 30*time.Second, "stdout does not end", ended))
}

func TestStopKillsWhenContextEnds(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	e := run(t, Spec{Selector: Selector{Name: id}, Cmd: stubborn["direct"], CloseStdin: time.Minute, Term: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	begun := time.Now()
	require.NoError(t, e.Stop(ctx))
	took := time.Since(begun)
	assert.Truef(t, took <= 30*time.Second, "took %s", took)
}

func TestEnvironmentUserAndFolderArePassed(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	e := run(t, Spec{
		Selector: Selector{Name: id}, Cmd: []string{"sh", "-c", `echo "$MINE $(id -u) $(pwd)"`},
		Env: []string{"MINE=a b"}, User: "1234", Workdir: "/tmp",
	})
	out, err := io.ReadAll(e.Stdout())
	assert.NoError(t, err)
	assert.Equal(t, "a b 1234 /tmp\n", string(out))
}

// reachable reports whether we may signal the container's processes.
func reachable(t *testing.T, id string) bool {
	t.Helper()
	found, err := engine.cli.ContainerInspect(t.Context(), id, client.ContainerInspectOptions{})
	require.NoError(t, err)
	groups, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", found.Container.State.Pid))
	return os.Getuid() == 0 && strings.Contains(string(groups), id)
}

func TestImageWithoutShell(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, bareImage, true)
	t.Run("echo", func(t *testing.T) {
		e := run(t, Spec{Selector: Selector{Name: id}, Cmd: []string{"/cat"}, CloseStdin: 2 * time.Second})
		_, err := io.WriteString(e.Stdin(), "hi\n")
		require.NoError(t, err)
		got, _ := bufio.NewReader(e.Stdout()).ReadString('\n')
		assert.Equal(t, "hi\n", got)
		assert.NoError(t, e.Stop(t.Context()))
	})
	t.Run("ignores the end of its input", func(t *testing.T) {
		e := run(t, Spec{Selector: Selector{Name: id}, Cmd: []string{"/sleep", "1000"}})
		err := e.Stop(t.Context())
		left := processesInside(t, id)
		switch {
		case err == nil && len(left) > 0:
			t.Errorf("said to be ended, left: %q", left)
		case err != nil && !errors.Is(err, ErrNoShell):
			t.Errorf("err = %v", err)
		case err != nil && reachable(t, id):
			t.Errorf("its process is one of this machine, and it was not ended: %v", err)
		}
		select {
		case <-e.Done():
		default:
			t.Error("not done after Stop")
		}
	})
	t.Run("quick", func(t *testing.T) {
		e := run(t, Spec{Selector: Selector{Name: id}, Cmd: []string{"/busybox", "echo", "hi"}})
		out, err := io.ReadAll(e.Stdout())
		assert.Truef(t, err == nil && string(out) == "hi\n", "%q, %v", out, err)
		<-e.Done()
		exit := e.Exit()
		assert.Truef(t, exit.Code == 0 && exit.Reason == "", "exit %+v", exit)
	})
	t.Run("missing program", func(t *testing.T) {
		_, err := Start(t.Context(), Spec{Selector: Selector{Name: id}, Cmd: []string{"/no-such"}})
		assert.ErrorIs(t, err, ErrNoBinary)
	})
}

func TestEachMissingPartHasItsOwnError(t *testing.T) {
	t.Parallel()
	running := sleepingContainer(t, shellImage, true)
	stopped := sleepingContainer(t, shellImage, false)
	dir := t.TempDir()
	for name, c := range map[string]struct {
		spec Spec
		want error
	}{
		"no Docker":  {Spec{Selector: Selector{Engine: Engine{Host: "unix://" + filepath.Join(dir, "none.sock")}, Name: "x"}, Cmd: []string{"cat"}}, ErrNoDocker},
		"refused":    {Spec{Selector: Selector{Engine: Engine{Host: "tcp://127.0.0.1:1"}, Name: "x"}, Cmd: []string{"cat"}}, ErrNoDocker},
		"ssh":        {Spec{Selector: Selector{Engine: Engine{Host: "ssh://host"}, Name: "x"}, Cmd: []string{"cat"}}, ErrNoDocker},
		"absent":     {Spec{Selector: Selector{Name: "no-such-container"}, Cmd: []string{"cat"}}, ErrNoContainer},
		"stopped":    {Spec{Selector: Selector{Name: stopped}, Cmd: []string{"cat"}}, ErrNotRunning},
		"no program": {Spec{Selector: Selector{Name: running}, Cmd: []string{"no-such-program"}}, ErrNoBinary},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Start(t.Context(), c.spec)
			assert.ErrorIs(t, err, c.want)
			for _, other := range []error{ErrNoDocker, ErrPermission, ErrNoContainer, ErrNotRunning, ErrNoBinary} {
				assert.Falsef(t, other != c.want && errors.Is(err, other), "also %v", other)
			}
		})
	}
	left := processesInside(t, running)
	assert.Truef(t, len(left) <= 0, "left by failed starts: %q", left)
}

func TestRefusedSocketIsAPermissionError(t *testing.T) {
	t.Parallel()
	// Root can open any socket, so this test uses the error text of the client.
	err := translateError(Engine{Host: "unix:///x.sock"}, "c", &os.PathError{Op: "dial", Err: os.ErrPermission})
	assert.ErrorIs(t, err, ErrPermission)
}

func TestStderrFloodDoesNotBlockProcess(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	e := run(t, Spec{Selector: Selector{Name: id}, Cmd: []string{"sh", "-c", `i=0; while [ $i -lt 20000 ]; do echo "a line that is written again and again" >&2; i=$((i+1)); done; echo over`}})
	out, err := io.ReadAll(e.Stdout())
	assert.NoError(t, err)
	assert.Equal(t, "over\n", string(out))
}

func TestEndOrphansKillsExecsOfKilledDaemon(t *testing.T) {
	t.Parallel()
	id := sleepingContainer(t, shellImage, true)
	ledger := t.TempDir()
	e := run(t, Spec{Selector: Selector{Name: id}, Cmd: stubborn["background"], Ledger: ledger})
	eventually.True(t, "running", func() bool { return len(processesInside(t, id)) >= 2 })
	files, _ := os.ReadDir(ledger)
	require.Len(t, files, 1)
	n, err := EndOrphans(t.Context(), ledger)
	assert.Truef(t, err == nil && n >= 2, "ended %d, %v", n, err)
	// The shell of the sweep itself, which killed the others, may still exist for a moment.
	eventually.True(t, "nothing left", func() bool { return len(processesInside(t, id)) == 0 })
	<-e.Done()
	files, _ = os.ReadDir(ledger)
	assert.Empty(t, files)
	if n, err := EndOrphans(t.Context(), filepath.Join(ledger, "never")); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestEngineIsFoundLikeDockerCommand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"} {
		t.Setenv(name, "")
	}
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(home, ".docker", path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	put("config.json", `{"currentContext":"work"}`)
	_, err := defaultEndpoint()
	assert.Truef(t, errors.Is(err, ErrNoDocker) && strings.Contains(err.Error(), "work"), "a context that is not there: %v", err)
	put("contexts/meta/"+contextID("work")+"/meta.json", `{"Name":"work","Endpoints":{"docker":{"Host":"unix:///run/work.sock"}}}`)
	at, err := defaultEndpoint()
	assert.Truef(t, err == nil && at.host == "unix:///run/work.sock", "%+v, %v", at, err)
	t.Setenv("DOCKER_CONTEXT", "default")
	at, err = defaultEndpoint()
	assert.Truef(t, err == nil && at.host != "unix:///run/work.sock", "%+v, %v", at, err)
	t.Setenv("DOCKER_HOST", "tcp://10.0.0.1:2375")
	at, err = defaultEndpoint()
	assert.Truef(t, err == nil && at.host == "tcp://10.0.0.1:2375" && at.env, "%+v, %v", at, err)
}

func TestOutputBeforeWrapperLineIsHeldBack(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := &startBuffer{w: &out}
	_, _ = h.Write([]byte("early "))
	assert.True(t, out.Len() <= 0, "passed on while nobody reads")
	_ = h.release()
	_, _ = h.Write([]byte("late"))
	assert.Equal(t, "early late", out.String())
	full := &startBuffer{w: &out}
	_, _ = full.Write(make([]byte, maxBuffered))
	if _, _ = full.Write([]byte("x")); out.Len() != len("early late")+maxBuffered+1 {
		t.Error("held without a bound")
	}
}

func TestStartLineReaderConsumesOnlyItsOwnLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chunks     []string
		told, rest string
	}{
		"whole":     {[]string{"\x1edrawbridge-pid 7\nhello\n"}, "\x1edrawbridge-pid 7", "hello\n"},
		"torn":      {[]string{"\x1edraw", "bridge-pid 7", "\nhel", "lo"}, "\x1edrawbridge-pid 7", "hello"},
		"foreign":   {[]string{"hello\nyou\n"}, "", "hello\nyou\n"},
		"long line": {[]string{strings.Repeat("x", 300), "y"}, "", strings.Repeat("x", 300) + "y"},
	} {
		t.Run(name, func(t *testing.T) {
			var rest bytes.Buffer
			told := "never"
			h := &startLineReader{dst: &rest, onLine: func(line string) { told = line }}
			for _, chunk := range c.chunks {
				n, err := h.Write([]byte(chunk))
				require.Truef(t, n == len(chunk) && err == nil, "%v %v", n, err)
			}
			if told != c.told || rest.String() != c.rest {
				t.Errorf("told %q, rest %q", told, rest.String())
			}
		})
	}
}
