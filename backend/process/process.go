package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/closeonce"
)

// How long the default ladder waits on its steps, and how long what a dead
// child left behind may take to end by itself.
const (
	defaultCloseStdin = 2 * time.Second
	defaultTerm       = 3 * time.Second
	leftoverGrace     = 400 * time.Millisecond
	stderrGrace       = 250 * time.Millisecond
	killPatience      = 5 * time.Second
	watchdogPatience  = 30 * time.Second // the watchdog has nothing else to do
	poll              = 20 * time.Millisecond
	// emptyLooks is how often in a row nothing must be found before nothing is there:
	// a process that forks and exits while one look is under way is not in it.
	emptyLooks = 3
	// orphanGrace is how long what a dead daemon or watchdog leaves behind may take
	// to end by itself.
	orphanGrace = 500 * time.Millisecond
)

// Spec says what to start.
type Spec struct {
	// Name is whose process this is (a server id). It is part of the mark and
	// of the ledger; it must not hold '/' or NUL.
	Name string
	// Path is the executable, as Resolve returned it.
	Path string
	// Args are the arguments without the program's name.
	Args []string
	// Env is the complete environment, KEY=value. Nothing is inherited.
	Env []string
	// Dir is the working directory; "" is ours.
	Dir string
	// Stderr gets what the process writes to its standard error, and must not
	// block: a full stderr pipe stops the process. nil discards it.
	Stderr io.Writer
	// Stop is how patiently Stop ends the process.
	Stop StopLadder
}

// StopLadder is how long Stop waits after each step before the next one.
// Zero means the default: 2 s after closing stdin, 3 s after TERM.
type StopLadder struct {
	CloseStdin, Term time.Duration
}

// Exit is how a process ended.
type Exit struct {
	Code   int    // exit status; -1 when a signal ended it
	Signal string // "killed", "terminated", ...; "" when it exited by itself
	// Signalled says that Stop had sent a signal before: the end may be our own doing.
	Signalled bool
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "ended by signal: " + e.Signal
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// Process is a started child and everything it started. Its methods may be
// called from several goroutines.
type Process struct {
	spec   Spec
	pid    int
	tree   *tree
	stdin  *os.File
	stdout *childOutput

	done   chan struct{}
	exit   Exit // set before done closes
	ending *closeonce.Closer
	// signalled is set before Stop sends the first signal.
	signalled atomic.Bool

	mu      sync.Mutex // guards the last CPU sample
	lastCPU time.Duration
	lastAt  time.Time
}

// PID is the process id of the direct child.
func (p *Process) PID() int { return p.pid }

// Stdin is the child's standard input. It has SetWriteDeadline where the
// platform can do it (not on Windows). Close is the first step of Stop.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout is the child's standard output. It ends once the child has ended,
// even when something that escaped still holds the pipe; what was written before
// is still delivered. It ends at once when Stop has returned.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Done is closed when the child has exited and everything it left behind was
// ended. It does not wait for anybody to close stdout.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is how the child ended. It is valid once Done is closed.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{Code: -1}
	}
}

// Stop ends the process and its whole tree: it closes stdin, then sends TERM,
// then KILL until nothing is left. It is idempotent and returns when everything
// is gone. When ctx ends, the remaining patience is skipped, not the ending. The
// error says that something could not be killed.
//
// Stop also releases the pipes: call it for every Process, even for one that
// ended by itself.
func (p *Process) Stop(ctx context.Context) error {
	return p.ending.Run(ctx, p.stop)
}

func (p *Process) stop() error {
	defer p.stdout.close()
	p.tree.note()
	p.stdin.Close()
	if p.ending.Wait(p.done, orDefault(p.spec.Stop.CloseStdin, defaultCloseStdin)) {
		return nil
	}
	p.signalled.Store(true)
	p.tree.terminate()
	if p.ending.Wait(p.done, orDefault(p.spec.Stop.Term, defaultTerm)) {
		return nil
	}
	p.ending.Expedite() // also for what the child has left behind
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		p.tree.kill()
		if closeonce.WaitAtMost(p.done, poll) {
			return nil
		}
	}
	return fmt.Errorf("cannot end process %d (%s): it does not react to being killed", p.pid, p.spec.Name)
}

// watch owns the end of the process: it reaps by pid, never by end of file,
// because a grandchild that holds stdout would hide the exit for ever.
func (p *Process) watch(cmd *exec.Cmd, stderr *childOutput, ended func()) {
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer stderr.close()
		copyUntilEOF(p.spec.Stderr, stderr)
	}()

	state, err := cmd.Process.Wait()
	p.exit = exitOf(state, err)
	p.exit.Signalled = p.signalled.Load()
	p.endLeftovers()
	p.stdin.Close()
	stderr.expire()
	p.stdout.expire()
	timer := time.NewTimer(stderrGrace)
	defer timer.Stop()
	select { // so that the last words are in the log when the end is announced
	case <-drained:
	case <-timer.C:
	}
	p.tree.release()
	ended()
	close(p.done)
}

// endLeftovers ends what a dead child left behind.
func (p *Process) endLeftovers() {
	if p.nothingLeft() {
		return
	}
	p.tree.terminate()
	for deadline := time.Now().Add(leftoverGrace); time.Now().Before(deadline) && !p.ending.Expedited(); {
		time.Sleep(poll)
		if p.nothingLeft() {
			return
		}
	}
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		p.tree.kill()
		time.Sleep(poll / 4)
		if p.nothingLeft() {
			return
		}
	}
}

func (p *Process) nothingLeft() bool {
	for range emptyLooks {
		if p.tree.alive() > 0 {
			return false
		}
	}
	return true
}

// copyUntilEOF copies until the end of src. A writer that fails is ignored: stderr
// must go on flowing or the process stops.
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

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// check refuses what cannot be started, with the reason that exec would blur.
func (s Spec) check() error {
	if s.Name == "" || strings.ContainsAny(s.Name, "/\x00\n") {
		return fmt.Errorf("cannot start process: bad name %q", s.Name)
	}
	if s.Path == "" {
		return errors.New("cannot start process: no command")
	}
	if s.Dir != "" {
		info, err := os.Stat(s.Dir)
		switch {
		case err != nil:
			return fmt.Errorf("cannot enter working directory: %w", err)
		case !info.IsDir():
			return fmt.Errorf("cannot enter working directory: %s is not a directory", s.Dir)
		}
	}
	return checkArgs(s.Path, s.Args)
}
