package dockerexec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

// How long the Engine may take for one answer, and how the ladder waits.
const (
	answerLimit       = 10 * time.Second
	defaultCloseStdin = 2 * time.Second
	defaultTerm       = 3 * time.Second
	killPatience      = 5 * time.Second
	outputGrace       = 500 * time.Millisecond
)

// Spec says what to run where.
type Spec struct {
	Place
	Cmd     []string  // program and arguments
	Env     []string  // added to the container's own, KEY=value
	User    string    // "" is the container's own
	Workdir string    // "" is the container's own
	Stderr  io.Writer // must not block; nil discards
	Ledger  string    // folder in which running execs are kept for Sweep; "" keeps none
	// CloseStdin and Term are how long Stop waits after these steps; zero means 2 s and 3 s.
	CloseStdin, Term time.Duration

	attribution time.Duration // how long a killed process waits for the end of its container; zero means outputGrace
}

// Exit is how a process ended.
type Exit struct {
	Code int // exit status; 128 plus the signal when one ended it; -1 when unknown
	// Reason says why Code is unknown.
	Reason string
	// Away says that it is not the process's own doing: the container or the Engine went away.
	Away bool
}

func (e Exit) String() string {
	if e.Reason != "" {
		return e.Reason
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// Exec is one process inside a container and what it started there.
type Exec struct {
	contained
	spec      Spec
	id        string // of the exec
	container string // full id
	life      life
	pid       int // in the container; 0 without a shell
	shell     bool

	poke      chan struct{} // ask the Engine now
	abandoned chan struct{} // closed when the process lives and cannot be ended
	signalled atomic.Bool   // by Stop
}

// Start runs spec.Cmd in a running container and returns when it runs. ctx bounds
// the start only. Errors wrap ErrNoDocker, ErrPermission, ErrNoContainer,
// ErrNotRunning or ErrNoBinary where one of them is the reason.
//
// There is never a terminal: it would echo, translate line ends and merge stderr
// into stdout.
func Start(ctx context.Context, spec Spec) (*Exec, error) {
	if spec.Name == "" && spec.Label == "" && spec.Service == "" || len(spec.Cmd) == 0 || spec.Cmd[0] == "" {
		return nil, errors.New("cannot run in container: no container or no command given")
	}
	if spec.Stderr == nil {
		spec.Stderr = io.Discard
	}
	cli, at, err := connect(spec.Engine)
	if err != nil {
		return nil, err
	}
	e := &Exec{
		contained: newContained(cli, at, rand.Text()), spec: spec,
		poke: make(chan struct{}, 1), abandoned: make(chan struct{}),
	}
	if err := e.start(ctx); err != nil {
		cli.Close()
		return nil, err
	}
	return e, nil
}

func (e *Exec) start(ctx context.Context) (err error) {
	if e.life, err = locate(ctx, e.cli, e.at, e.spec.Place); err != nil {
		return err
	}
	e.container = e.life.id
	_, err = e.cli.ContainerStatPath(ctx, e.container, client.ContainerStatPathOptions{Path: "/bin/sh"})
	e.shell = err == nil

	cmd := e.spec.Cmd
	if e.shell {
		cmd = wrapped(cmd)
	}
	created, err := e.cli.ExecCreate(ctx, e.container, client.ExecCreateOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Cmd: cmd, Env: append(e.spec.Env[:len(e.spec.Env):len(e.spec.Env)], MarkVariable+"="+e.mark),
		User: e.spec.User, WorkingDir: e.spec.Workdir,
	})
	if err != nil {
		return e.spec.explain(e.at, err)
	}
	e.id = created.ID
	attached, err := e.cli.ExecAttach(ctx, e.id, client.ExecAttachOptions{})
	if err != nil {
		if missing(err.Error()) {
			return fmt.Errorf("%w: %q in the container %s", ErrNoBinary, e.spec.Cmd[0], e.spec.Place)
		}
		return e.spec.explain(e.at, err)
	}
	e.conn = attached.HijackedResponse
	e.stdin = stdin{conn: &e.conn, once: &sync.Once{}}
	reader, writer := io.Pipe()
	e.stdout = reader

	told := make(chan string, 1)
	out := &holdback{w: writer, open: !e.shell}
	stderr := io.Writer(&herald{dst: e.spec.Stderr, tell: func(line string) {
		told <- line
		_ = out.release()
	}})
	if !e.shell {
		stderr = sink{e.spec.Stderr}
	}
	go func() {
		defer close(e.streamed)
		_, err := stdcopy.StdCopy(out, stderr, e.conn.Reader)
		_ = out.release()
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			err = nil // watch or Stop said that it is over
		}
		_ = writer.CloseWithError(err) // nil is the end
		e.ask()
	}()
	if err := e.confirm(ctx, told); err != nil {
		e.endEarly()
		return err
	}
	e.enlist()
	watching, cancel := context.WithCancel(context.Background())
	go e.watch(watching, cancel) //nolint:gosec // the process outlives the request that starts it
	return nil
}

// confirm waits until the process runs, or says why it does not.
func (e *Exec) confirm(ctx context.Context, told <-chan string) error {
	if e.shell {
		var line string
		select {
		case line = <-told:
		case <-e.streamed:
			select {
			case line = <-told:
			default:
			}
		case <-ctx.Done():
			return fmt.Errorf("cannot run in the container %s: %w", e.spec.Place, ctx.Err())
		}
		if line == missingLine {
			return fmt.Errorf("%w: %q in the container %s", ErrNoBinary, e.spec.Cmd[0], e.spec.Place)
		}
		if digits, ok := strings.CutPrefix(line, startedLine); ok {
			e.pid, _ = strconv.Atoi(digits)
			return nil
		}
	}
	// Without the wrapper's word the Engine has to say that the process runs. A
	// program that is missing shows as one that ended with 126 or 127 at once.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := e.cli.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return e.spec.explain(e.at, err)
		case now.Running && now.PID > 0:
			return nil
		case !now.Running && (now.ExitCode == 126 || now.ExitCode == 127):
			return fmt.Errorf("%w: %q in the container %s", ErrNoBinary, e.spec.Cmd[0], e.spec.Place)
		case !now.Running && (now.PID > 0 || e.ended()):
			return nil // ran, and is over
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("cannot run in the container %s: %w", e.spec.Place, ctx.Err())
		}
	}
}

func (e *Exec) ended() bool {
	select {
	case <-e.streamed:
		return true
	default:
		return false
	}
}

// endEarly ends what a failed start may have begun.
func (e *Exec) endEarly() {
	_ = e.conn.CloseWrite()
	if e.shell {
		ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
		defer cancel()
		_, _ = e.signal(ctx, "KILL", 0)
	}
	e.conn.Close()
	e.stdout.Close()
}

// missing recognises the Engine's words for a program that is not there.
func missing(text string) bool {
	return strings.Contains(text, "executable file not found") ||
		strings.Contains(text, "no such file or directory") && strings.Contains(text, "exec")
}

// Stubborn says that the image has no shell, so that the process can be ended only by
// closing its input, or from the host where we may.
func (e *Exec) Stubborn() bool { return !e.shell }

// PID is the process id inside the container, or 0 when the image has no shell
// that could tell.
func (e *Exec) PID() int { return e.pid }

// stdin is the writing half of the connection.
type stdin struct {
	conn *client.HijackedResponse
	once *sync.Once
}

func (s stdin) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

func (s stdin) SetWriteDeadline(t time.Time) error { return s.conn.Conn.SetWriteDeadline(t) }

// Close ends the process's input. Where the connection has no halves (a named
// pipe) nothing happens and Stop goes on to its next step.
func (s stdin) Close() (err error) {
	s.once.Do(func() {
		if err = s.conn.CloseWrite(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	})
	return err
}

// sink never fails, so that a log that does not work stops nothing.
type sink struct{ w io.Writer }

func (s sink) Write(p []byte) (int, error) {
	_, _ = s.w.Write(p)
	return len(p), nil
}
