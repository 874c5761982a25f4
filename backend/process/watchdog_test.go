//go:build linux

package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// watchdogFixture is a watchdog with a daemon and its servers, all real processes.
type watchdogFixture struct {
	t            *testing.T
	dir          string // contains NOTES and READY
	watchdog     *exec.Cmd
	exited       chan struct{}
	daemon       int
	watchdogExit int
}

const hostile = "unkillable,sh>sh>unkillable,sh>setsid>unkillable,stay>fork>unkillable,sh>bare>unkillable,drop>unkillable"

// hostileReady is the number of processes of hostile that report ready; fork and drop exit and do
// not report.
const hostileReady = 1 + 3 + 3 + 2 + 3 + 1

func startStage(t *testing.T, roles string, ready int, env ...string) *watchdogFixture {
	t.Helper()
	s := &watchdogFixture{t: t, dir: t.TempDir(), exited: make(chan struct{})}
	for _, sub := range []string{"notes", "ready"} {
		require.NoError(t, os.Mkdir(filepath.Join(s.dir, sub), 0o700))
	}
	s.watchdog = exec.Command(os.Args[0])
	// The watched role passes its environment on; ROLE contains the role of the daemon.
	s.watchdog.Env = append(os.Environ(), append([]string{
		act + "=watched", "ROLES=" + roles, "LEDGER=" + filepath.Join(s.dir, "ledger.json"),
		"NOTES=" + filepath.Join(s.dir, "notes"), "READY=" + filepath.Join(s.dir, "ready"), quickExit,
	}, env...)...)
	var stderr bytes.Buffer
	s.watchdog.Stderr = &stderr
	s.watchdog.WaitDelay = 3 * time.Second
	require.NoError(t, s.watchdog.Start())
	go func() {
		defer close(s.exited)
		_ = s.watchdog.Wait()
		s.watchdogExit = s.watchdog.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		for _, pid := range append(s.alive(), s.daemon) {
			if pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		_ = s.watchdog.Process.Kill()
		<-s.exited
		if t.Failed() {
			t.Log(stderr.String())
		}
	})
	eventually.True(t, "daemon ready", func() bool {
		text, err := os.ReadFile(filepath.Join(s.dir, "notes", "daemon"))
		s.daemon, _ = strconv.Atoi(string(text))
		return err == nil && s.daemon > 0
	})
	eventually.True(t, fmt.Sprintf("%d processes ready", ready), func() bool {
		entries, _ := os.ReadDir(filepath.Join(s.dir, "ready"))
		return len(entries) >= ready
	})
	// The one whose server has ended may have been ended, too.
	require.GreaterOrEqual(t, len(s.alive()), ready-1, "alive at the start")
	return s
}

func (s *watchdogFixture) alive() []int { return pidsIn(filepath.Join(s.dir, "ready")) }

func (s *watchdogFixture) noted(word string) bool {
	_, err := os.Stat(filepath.Join(s.dir, "notes", word))
	return err == nil
}

func (s *watchdogFixture) waitExit(limit time.Duration) int {
	s.t.Helper()
	eventually.Receive(s.t, limit, "the watchdog does not end", s.exited)
	return s.watchdogExit
}

func TestNoProcessOutlivesKilledDaemon(t *testing.T) {
	t.Parallel()
	for round := range 3 {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			s := startStage(t, hostile, hostileReady)
			_ = syscall.Kill(s.daemon, syscall.SIGKILL)
			eventually.TrueWithin(t, 10*time.Second, "0 processes left", func() bool { return len(s.alive()) == 0 })
			assert.Equal(t, 128+9, s.waitExit(30*time.Second), "watchdog exited")
			assert.True(t, s.noted("after"), "after was not called")
		})
	}
}

// The stop timeouts of these servers are a minute, which must not be waited for.
func TestDaemonStopsWhenWatchdogDies(t *testing.T) {
	t.Parallel()
	s := startStage(t, "unkillable,sh>sh>unkillable,sh>setsid>unkillable,stay>fork>unkillable", 1+3+3+2, "PATIENT=1")
	_ = s.watchdog.Process.Kill()
	eventually.TrueWithin(t, 10*time.Second, "0 processes left", func() bool { return len(s.alive()) == 0 })
	eventually.TrueWithin(t, 30*time.Second, "daemon gone", func() bool {
		p, ok := readProcess(s.daemon)
		return !ok || p.zombie
	})
	assert.True(t, s.noted("lost"), "the daemon did not learn it")
}

func TestWatchdogForwardsSignalsAndExitStatus(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		s := startStage(t, "sh>unkillable", 2)
		_ = s.watchdog.Process.Signal(sig)
		assert.Equal(t, 5, s.waitExit(30*time.Second), sig)
		assert.Truef(t, s.noted(sig.String()), "%s did not reach the daemon", sig)
		assert.Truef(t, s.noted("after"), "%s: containers that the daemon left are not looked for", sig)
		alive := s.alive()
		assert.Truef(t, len(alive) <= 0, "%s: left %v", sig, alive)
	}
}

func TestWatchdogSparesProgramsLaunchedForUser(t *testing.T) {
	t.Parallel()
	s := startStage(t, "unkillable", 3, "KEEP=sh>unkillable") // two processes of the launched tree
	_ = syscall.Kill(s.daemon, syscall.SIGKILL)
	s.waitExit(30 * time.Second)
	require.Len(t, s.alive(), 2)
	for _, pid := range s.alive() {
		assert.NotEmpty(t, environVariable(pid, keepVariable))
	}
}

func TestWatchdogKillsServerWithForgedMarker(t *testing.T) {
	t.Parallel()
	s := startStage(t, "kept>unkillable", 2)
	_ = syscall.Kill(s.daemon, syscall.SIGKILL)
	s.waitExit(30 * time.Second)
	alive := s.alive()
	assert.Truef(t, len(alive) <= 0, "left: %v", alive)
}
