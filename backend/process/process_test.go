//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func TestEchoWorksBothWays(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "echo", 0, func(s *Spec) {
		s.Stop = StopTimeouts{CloseStdin: time.Minute, Term: time.Minute}
	})
	_, err := io.WriteString(p.Stdin(), "hello\n")
	require.NoError(t, err)
	require.Equal(t, "hello", firstLine(t, p.Stdout()))
	begun := time.Now()
	require.NoError(t, p.Stop(t.Context()))
	if took := time.Since(begun); took > 30*time.Second { // a process that does not exit would be waited for a minute
		t.Errorf("a server that ends with its input took %s to stop", took)
	}
	assert.Equal(t, Exit{}, p.Exit())
}

func TestExitReportsCodeAndSignal(t *testing.T) {
	s := newTestSpawner(t)
	p, _ := start(t, s, "exit3", 0)
	<-p.Done()
	exit := p.Exit()
	assert.Truef(t, exit.Code == 3 && exit.Signal == "", "exit %+v", exit)
	p, _ = start(t, s, "unkillable", 1)
	require.NoError(t, p.Stop(t.Context()))
	exit = p.Exit()
	assert.Truef(t, exit.Code == -1 && exit.Signal == "killed", "exit %+v", exit)
}

// Every shape of process tree, each ending in a process that ignores end of input and SIGTERM.
var processTreeShapes = map[string]struct {
	role  string
	ready int
}{
	"direct":      {"unkillable", 1},
	"shell":       {"sh>unkillable", 2},
	"npx":         {"sh>sh>unkillable", 3},
	"setsid":      {"sh>setsid>unkillable", 3},
	"daemon":      {"stay>fork>unkillable", 2},
	"bare setsid": {"bare>unkillable", 2},
}

func TestStopLeavesNoDescendants(t *testing.T) {
	for name, shape := range processTreeShapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := start(t, newTestSpawner(t), shape.role, shape.ready)
			require.Len(t, pidsIn(dir), shape.ready, "alive before the stop")
			require.NoError(t, p.Stop(t.Context()))
			alive := pidsIn(dir)
			require.Truef(t, len(alive) <= 0, "left: %v", alive)
		})
	}
}

func TestStopIsIdempotentAndConcurrent(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "sh>unkillable", 2)
	var stops sync.WaitGroup
	for range 5 {
		stops.Go(func() {
			assert.NoError(t, p.Stop(t.Context()))
		})
	}
	stops.Wait()
	assert.NoError(t, p.Stop(t.Context()))
}

func TestStopEscalatesInOrder(t *testing.T) {
	t.Parallel()
	p, _ := start(t, newTestSpawner(t), "polite", 1, func(s *Spec) {
		s.Stop = StopTimeouts{CloseStdin: 300 * time.Millisecond, Term: time.Minute}
	})
	begun := time.Now()
	require.NoError(t, p.Stop(t.Context()))
	took := time.Since(begun)
	assert.Truef(t, took >= 300*time.Millisecond && took <= 30*time.Second, "took %s", took)
	assert.Equal(t, 0, p.Exit().Code, "TERM was to be handled, exit")
}

func TestStopKillsWhenContextEnds(t *testing.T) {
	t.Parallel()
	p, _ := start(t, newTestSpawner(t), "unkillable", 1, func(s *Spec) {
		s.Stop = StopTimeouts{CloseStdin: time.Minute, Term: time.Minute}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	require.NoError(t, p.Stop(ctx))
	took := time.Since(begun)
	assert.Truef(t, took <= 30*time.Second, "took %s", took)
}

func TestTwentyStubbornServersStopWithinSixSeconds(t *testing.T) {
	t.Parallel()
	s := newTestSpawner(t)
	var dirs []string
	for i := range 20 { // the child itself or its descendant ignores SIGTERM
		_, dir := start(t, s, []string{"unkillable", "sh>unkillable"}[i%2], 1+i%2, func(s *Spec) { s.Stop = StopTimeouts{} })
		dirs = append(dirs, dir)
	}
	begun := time.Now()
	require.NoError(t, s.Close(t.Context()))
	// Five times the expected duration, because other tests run at the same time. Stopped one
	// after the other they would take 100 s.
	took := time.Since(begun)
	assert.Truef(t, took <= 30*time.Second, "took %s", took)
	for _, dir := range dirs {
		alive := pidsIn(dir)
		assert.Truef(t, len(alive) <= 0, "left: %v", alive)
	}
}

func TestExitIsDetectedWhileGrandchildHoldsStdout(t *testing.T) {
	t.Parallel()
	p, dir := start(t, newTestSpawner(t), "leave>unkillable", 1)
	eventually.Receive(t, 30*time.Second, "exit not noticed", p.Done())
	assert.Equal(t, 7, p.Exit().Code)
	alive := pidsIn(dir)
	assert.Truef(t, len(alive) <= 0, "left: %v", alive)
	_, err := io.ReadAll(p.Stdout())
	assert.NoError(t, err)
	assert.NoError(t, p.Stop(t.Context()))
}

func TestNoZombieRemains(t *testing.T) {
	s := newTestSpawner(t)
	for _, role := range []string{"leave>unkillable", "stay>fork>unkillable", "sh>sh>unkillable"} {
		p, _ := start(t, s, role, 1)
		require.NoError(t, p.Stop(t.Context()))
	}
	eventually.TrueWithin(t, reapAfter+3*time.Second, "no zombie child", func() bool {
		return !slices.ContainsFunc(listProcesses(), func(p processInfo) bool { return p.zombie && p.ppid == os.Getpid() })
	})
}

func TestReaperCollectsOrphans(t *testing.T) {
	for name, c := range map[string]struct {
		direct, group bool
		waited        time.Duration
		collected     bool
	}{
		"of a group of ours":            {group: true, collected: true},
		"unknown, for long":             {waited: reapAfter, collected: true},
		"unknown, just now":             {waited: reapAfter / 2},
		"somebody waits for it himself": {direct: true, group: true, waited: time.Hour},
	} {
		dead, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
		require.NoError(t, err)
		var p processInfo
		eventually.True(t, "a zombie", func() bool {
			p, _ = readProcess(dead.Pid)
			return p.zombie
		})
		r := newReaper(func(pid, _ int) (bool, bool) { return c.direct && pid == dead.Pid, c.group && pid == dead.Pid })
		if c.waited > 0 {
			r.firstSeen[processKey(p)] = time.Now().Add(-c.waited)
		}
		r.reapOrphans()
		_, there := readProcess(dead.Pid)
		assert.NotEqual(t, c.collected, there, name)
		_, _ = dead.Wait()
	}
}

func TestStdoutClosesWhileEscapedProcessHoldsIt(t *testing.T) {
	t.Parallel()
	// The escaped process erased its environment and has its own session, and its parent exited
	// before any process list was made: nothing shows that it belongs to the tree.
	p, dir := start(t, newTestSpawner(t), "drop>unkillable", 1)
	<-p.Done()
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(p.Stdout())
		ended <- err
	}()
	assert.NoError(t, eventually.Receive(t, 30*time.Second, "stdout does not end", ended))
	_ = p.Stop(t.Context())
	for _, pid := range pidsIn(dir) {
		if proc, err := os.FindProcess(pid); err == nil {
			_ = proc.Kill()
			_, _ = proc.Wait()
		}
	}
}

func TestLastStderrIsLoggedBeforeDone(t *testing.T) {
	var log bytes.Buffer
	p, _ := start(t, newTestSpawner(t), "noisy", 0, func(s *Spec) { s.Stderr = &log })
	<-p.Done()
	assert.Equal(t, "line one\nlast words", log.String())
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestStderrIsDrainedWhenWriterFails(t *testing.T) {
	for name, w := range map[string]io.Writer{"nil": nil, "failing": failingWriter{}} {
		t.Run(name, func(t *testing.T) {
			p, _ := start(t, newTestSpawner(t), "flood", 0, func(s *Spec) { s.Stderr = w })
			assert.Equal(t, "flooded", firstLine(t, p.Stdout()))
		})
	}
}

func TestStdinHasWriteDeadline(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "unkillable", 1) // never reads its input
	stdin, ok := p.Stdin().(interface{ SetWriteDeadline(time.Time) error })
	require.True(t, ok, "no SetWriteDeadline")
	require.NoError(t, stdin.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := p.Stdin().Write(make([]byte, 1<<20))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

// Otherwise the data folder of a test, or of a daemon that has just exited, could be written to
// after it was removed.
func TestCloseWaitsForLedgerUpdate(t *testing.T) {
	s := newTestSpawner(t)
	p, _ := start(t, s, "exit3", 0)
	s.ledger.mu.Lock() // blocks writing the ledger
	eventually.True(t, "the process is gone", func() bool { return errors.Is(unix.Kill(p.pid, 0), unix.ESRCH) })
	time.Sleep(20 * time.Millisecond) // makes a failure more likely
	s.mu.Lock()
	_, known := s.running[p.pid]
	s.mu.Unlock()
	s.ledger.mu.Unlock()
	assert.True(t, known, "Close would not wait for a process whose end is not written yet")
	<-p.Done()
}

func TestUsageCoversWholeTree(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "sh>sh>unkillable", 3)
	u, err := p.Usage()
	require.NoError(t, err)
	assert.Truef(t, len(u.Tree) == 3 && u.Tree[0].PID == p.PID() && u.RSS >= 1<<20 && !(u.CPU < 0), "usage %+v", u)
	_ = p.Stop(t.Context())
	_, err = p.Usage()
	assert.Error(t, err, "usage of an ended process")
}

func TestHundredStartsLeakNoDescriptor(t *testing.T) {
	s := newTestSpawner(t)
	truth, err := Resolve("true", "/bin:/usr/bin")
	if err != nil {
		t.Skip(err)
	}
	descriptors := func() int {
		names, _ := os.ReadDir("/proc/self/fd")
		return len(names)
	}
	cycle := func() {
		p, err := s.Start(Spec{Name: "t", Path: truth})
		require.NoError(t, err)
		<-p.Done()
		require.NoError(t, p.Stop(t.Context()))
	}
	for range 10 {
		cycle()
	}
	before := descriptors()
	for range 100 {
		cycle()
	}
	// The reaper closes the descriptor of a process a moment after it has ended.
	eventually.Complete(t, eventually.Limit, func() string {
		after := descriptors()
		if after <= before+2 {
			return ""
		}
		return fmt.Sprintf("descriptors: %d before, %d after", before, after)
	})
	require.Empty(t, s.running)
	require.Empty(t, s.ledger.entries)
}
