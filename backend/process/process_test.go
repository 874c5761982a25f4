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

	"golang.org/x/sys/unix"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func TestEchoWorksBothWays(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "echo", 0, func(s *Spec) {
		s.Stop = StopTimeouts{CloseStdin: time.Minute, Term: time.Minute}
	})
	if _, err := io.WriteString(p.Stdin(), "hello\n"); err != nil {
		t.Fatal(err)
	}
	if got := firstLine(t, p.Stdout()); got != "hello" {
		t.Fatalf("got %q", got)
	}
	begun := time.Now()
	must(t, p.Stop(t.Context()))
	if took := time.Since(begun); took > 30*time.Second { // a process that does not exit would be waited for a minute
		t.Errorf("a server that ends with its input took %s to stop", took)
	}
	if exit := p.Exit(); exit != (Exit{}) {
		t.Errorf("exit %+v", exit)
	}
}

func TestExitReportsCodeAndSignal(t *testing.T) {
	s := newTestSpawner(t)
	p, _ := start(t, s, "exit3", 0)
	<-p.Done()
	if exit := p.Exit(); exit.Code != 3 || exit.Signal != "" {
		t.Errorf("exit %+v", exit)
	}
	p, _ = start(t, s, "unkillable", 1)
	must(t, p.Stop(t.Context()))
	if exit := p.Exit(); exit.Code != -1 || exit.Signal != "killed" {
		t.Errorf("exit %+v", exit)
	}
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
			if alive := pidsIn(dir); len(alive) != shape.ready {
				t.Fatalf("alive before the stop: %v", alive)
			}
			must(t, p.Stop(t.Context()))
			if alive := pidsIn(dir); len(alive) > 0 {
				t.Fatalf("left: %v", alive)
			}
		})
	}
}

func TestStopIsIdempotentAndConcurrent(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "sh>unkillable", 2)
	var stops sync.WaitGroup
	for range 5 {
		stops.Go(func() {
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	stops.Wait()
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopEscalatesInOrder(t *testing.T) {
	t.Parallel()
	p, _ := start(t, newTestSpawner(t), "polite", 1, func(s *Spec) {
		s.Stop = StopTimeouts{CloseStdin: 300 * time.Millisecond, Term: time.Minute}
	})
	begun := time.Now()
	must(t, p.Stop(t.Context()))
	if took := time.Since(begun); took < 300*time.Millisecond || took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if exit := p.Exit(); exit.Code != 0 {
		t.Errorf("TERM was to be handled, exit %+v", exit)
	}
}

func TestStopKillsWhenContextEnds(t *testing.T) {
	t.Parallel()
	p, _ := start(t, newTestSpawner(t), "unkillable", 1, func(s *Spec) {
		s.Stop = StopTimeouts{CloseStdin: time.Minute, Term: time.Minute}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begun := time.Now()
	must(t, p.Stop(ctx))
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
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
	must(t, s.Close(t.Context()))
	// Five times the expected duration, because other tests run at the same time. Stopped one
	// after the other they would take 100 s.
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	for _, dir := range dirs {
		if alive := pidsIn(dir); len(alive) > 0 {
			t.Errorf("left: %v", alive)
		}
	}
}

func TestExitIsDetectedWhileGrandchildHoldsStdout(t *testing.T) {
	t.Parallel()
	p, dir := start(t, newTestSpawner(t), "leave>unkillable", 1)
	eventually.Receive(t, 30*time.Second, "exit not noticed", p.Done())
	if exit := p.Exit(); exit.Code != 7 {
		t.Errorf("exit %+v", exit)
	}
	if alive := pidsIn(dir); len(alive) > 0 {
		t.Errorf("left: %v", alive)
	}
	if _, err := io.ReadAll(p.Stdout()); err != nil {
		t.Error(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoZombieRemains(t *testing.T) {
	s := newTestSpawner(t)
	for _, role := range []string{"leave>unkillable", "stay>fork>unkillable", "sh>sh>unkillable"} {
		p, _ := start(t, s, role, 1)
		must(t, p.Stop(t.Context()))
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
		must(t, err)
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
		if _, there := readProcess(dead.Pid); there == c.collected {
			t.Errorf("%s: still there: %v", name, there)
		}
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
	if err := eventually.Receive(t, 30*time.Second, "stdout does not end", ended); err != nil {
		t.Error(err)
	}
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
	if got := log.String(); got != "line one\nlast words" {
		t.Errorf("log %q", got)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestStderrIsDrainedWhenWriterFails(t *testing.T) {
	for name, w := range map[string]io.Writer{"nil": nil, "failing": failingWriter{}} {
		t.Run(name, func(t *testing.T) {
			p, _ := start(t, newTestSpawner(t), "flood", 0, func(s *Spec) { s.Stderr = w })
			if got := firstLine(t, p.Stdout()); got != "flooded" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestStdinHasWriteDeadline(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "unkillable", 1) // never reads its input
	stdin, ok := p.Stdin().(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		t.Fatal("no SetWriteDeadline")
	}
	must(t, stdin.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
	_, err := p.Stdin().Write(make([]byte, 1<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("err = %v", err)
	}
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
	if !known {
		t.Error("Close would not wait for a process whose end is not written yet")
	}
	<-p.Done()
}

func TestUsageCoversWholeTree(t *testing.T) {
	p, _ := start(t, newTestSpawner(t), "sh>sh>unkillable", 3)
	u, err := p.Usage()
	must(t, err)
	if len(u.Tree) != 3 || u.Tree[0].PID != p.PID() || u.RSS < 1<<20 || u.CPU < 0 {
		t.Errorf("usage %+v", u)
	}
	_ = p.Stop(t.Context())
	if _, err := p.Usage(); err == nil {
		t.Error("usage of an ended process")
	}
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
		must(t, err)
		<-p.Done()
		must(t, p.Stop(t.Context()))
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
	if len(s.running) != 0 || len(s.ledger.entries) != 0 {
		t.Errorf("%d live, %d in ledger", len(s.running), len(s.ledger.entries))
	}
}
