package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Timeouts of the stop sequence, and of processes that a dead child left behind.
const (
	defaultCloseStdin   = 2 * time.Second
	defaultTerm         = 3 * time.Second
	leftoverGrace       = 400 * time.Millisecond
	stderrGrace         = 250 * time.Millisecond
	killTimeout         = 5 * time.Second
	watchdogKillTimeout = 30 * time.Second // the watchdog can wait longer: it has nothing else to do
	pollInterval        = 20 * time.Millisecond
	// emptyListsNeeded is the number of consecutive empty process lists after which a tree counts
	// as ended. A single list can miss a process that forks and exits while the list is made.
	emptyListsNeeded = 3
	// orphanGrace is how long processes that a dead daemon or watchdog left behind may take to
	// exit after SIGTERM.
	orphanGrace = 500 * time.Millisecond
)

// Process is a child process and all its descendants. Its methods are safe for concurrent use.
type Process struct {
	spec   Spec
	pid    int
	tree   *tree
	stdin  *os.File
	stdout *childOutput

	done   chan struct{}
	exit   Exit // set before done closes
	ending *osutil.Closer
	// signalledByStop is set before Stop sends the first signal.
	signalledByStop atomic.Bool

	mu      sync.Mutex // guards the last CPU sample
	lastCPU time.Duration
	lastAt  time.Time
}

// PID returns the process id of the direct child.
func (p *Process) PID() int { return p.pid }

// Stdin returns the child's standard input. It supports SetWriteDeadline, except on Windows.
// Closing it is the first step of Stop.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the child's standard output. After the child has exited, it delivers the rest of
// the pipe and then io.EOF, even if a descendant keeps the pipe open. It returns io.EOF
// immediately after Stop has returned.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Done is closed when the child has exited and all its descendants have been ended. It does not
// depend on stdout being read or closed.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns how the child exited. It is valid once Done is closed.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1}
	}
}

// Stop ends the process and all its descendants: it closes stdin, then sends SIGTERM, then
// SIGKILL until none is left. It is idempotent and returns when all have exited. If ctx is done,
// Stop skips the remaining timeouts but still ends the processes. It returns an error if a
// process could not be killed.
//
// Stop also releases the pipes, so it must be called for every Process, even after the child has
// exited.
func (p *Process) Stop(ctx context.Context) error {
	return p.ending.Run(ctx, p.stop)
}

func (p *Process) stop() error {
	defer p.stdout.close()
	p.tree.recordMembers()
	go p.stdin.Close() // on Windows, it may wait for a write that the end of the child ends
	if p.ending.Wait(p.done, orDefault(p.spec.Stop.CloseStdin, defaultCloseStdin)) {
		return nil
	}
	p.signalledByStop.Store(true)
	p.tree.terminate()
	if p.ending.Wait(p.done, orDefault(p.spec.Stop.Term, defaultTerm)) {
		return nil
	}
	p.ending.Expedite() // also for descendants of the child
	for deadline := time.Now().Add(killTimeout); time.Now().Before(deadline); {
		p.tree.kill()
		if osutil.WaitAtMost(p.done, pollInterval) {
			return nil
		}
	}
	return fmt.Errorf("cannot stop process %d (%s): it did not exit after being killed", p.pid, p.spec.Name)
}

// watch waits for the child by its pid and not for end of file on stdout, because a grandchild
// that keeps stdout open would hide the exit indefinitely. Then it ends the descendants and
// closes done.
func (p *Process) watch(cmd *exec.Cmd, stderr *childOutput, ended func()) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer stderr.close()
		copyUntilEOF(p.spec.Stderr, stderr)
	}()

	state, err := cmd.Process.Wait()
	p.exit = exitOf(state, err)
	p.exit.SignalledByStop = p.signalledByStop.Load()
	p.endLeftovers()
	p.stdin.Close()
	stderr.expire()
	p.stdout.expire()
	timer := time.NewTimer(stderrGrace)
	defer timer.Stop()
	select { // so that the last lines of stderr are in the log when done is closed
	case <-drained:
	case <-timer.C:
	}
	p.tree.release()
	ended()
	close(p.done)
}

// endLeftovers ends the descendants of a child that has exited.
func (p *Process) endLeftovers() {
	if p.nothingLeft() {
		return
	}
	p.tree.terminate()
	for deadline := time.Now().Add(leftoverGrace); time.Now().Before(deadline) && !p.ending.Expedited(); {
		time.Sleep(pollInterval)
		if p.nothingLeft() {
			return
		}
	}
	for deadline := time.Now().Add(killTimeout); time.Now().Before(deadline); {
		p.tree.kill()
		time.Sleep(pollInterval / 4)
		if p.nothingLeft() {
			return
		}
	}
}

func (p *Process) nothingLeft() bool {
	for range emptyListsNeeded {
		if p.tree.countAlive() > 0 {
			return false
		}
	}
	return true
}

// copyUntilEOF copies src to dst until io.EOF. It ignores write errors, because stderr must be
// drained or the process blocks.
func copyUntilEOF(dst io.Writer, src io.Reader) {
	if dst == nil {
		dst = io.Discard
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			_, _ = dst.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func exitOf(state *os.ProcessState, err error) Exit {
	if state == nil {
		return Exit{Code: -1, Signal: fmt.Sprintf("unknown (%v)", err)}
	}
	return Exit{Code: state.ExitCode(), Signal: signalOf(state)}
}

// pipes are the standard streams of a child; index 0 of each is the read end, index 1 the write
// end. They are created by os.Pipe and not by exec.Cmd, because they support deadlines and
// nothing waits for their end of file.
type pipes struct {
	stdin, stdout, stderr [2]*os.File
}

func newPipes() (p *pipes, err error) {
	p = &pipes{}
	for _, ends := range []*[2]*os.File{&p.stdin, &p.stdout, &p.stderr} {
		if ends[0], ends[1], err = os.Pipe(); err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func (p *pipes) close() {
	for _, f := range []*os.File{p.stdin[0], p.stdin[1], p.stdout[0], p.stdout[1], p.stderr[0], p.stderr[1]} {
		if f != nil {
			f.Close()
		}
	}
}

func (p *pipes) closeChildEnds() {
	p.stdin[0].Close()
	p.stdout[1].Close()
	p.stderr[1].Close()
}

// childOutput is our end of a child's stdout or stderr.
type childOutput struct {
	file *os.File

	mu      sync.Mutex // guards the fields below
	expired bool
	closed  bool
}

// Read reads the output of the child. After expire, it returns the rest of the pipe and then
// io.EOF, even if another process keeps the write end open.
func (o *childOutput) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		if n, _ = readAvailable(o.file, b); n > 0 { // any error means end of file here
			return n, nil
		}
	case errors.Is(err, os.ErrClosed):
		return n, io.EOF
	}
	o.close()
	if n > 0 {
		return n, nil
	}
	return 0, io.EOF
}

// expire makes Read return io.EOF once the pipe is empty.
func (o *childOutput) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.expired && !o.closed {
		o.expired = true
		_ = o.file.SetReadDeadline(time.Unix(1, 0))
	}
}

func (o *childOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.closed = true
		o.file.Close()
	}
}

// Usage is the resource usage of a process tree.
type Usage struct {
	RSS  int64   `json:"rssBytes"`   // resident memory in bytes, sum over the tree; shared pages count more than once
	CPU  float64 `json:"cpuPercent"` // of one core, since the previous Usage, or since the start
	Tree []Proc  `json:"tree"`       // the direct child first, then sorted by pid
}

// Proc is one process of a tree.
type Proc struct {
	PID  int    `json:"pid"`
	PPID int    `json:"ppid"`
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // path of the executable; "" if unreadable
	RSS  int64  `json:"rssBytes"`
}

// sample returns the CPU usage since the last sample in percent of one core. The time of
// processes that exited in between is lost, so a negative difference counts as 0.
func (p *Process) sample(cpu time.Duration, now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	used, passed := cpu-p.lastCPU, now.Sub(p.lastAt)
	p.lastCPU, p.lastAt = cpu, now
	if passed <= 0 || used < 0 {
		return 0
	}
	return 100 * float64(used) / float64(passed)
}
