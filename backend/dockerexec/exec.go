package dockerexec

import (
	"bytes"
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

// Timeout of one request to the Engine, and timeouts of the stop sequence.
const (
	requestTimeout    = 10 * time.Second
	defaultCloseStdin = 2 * time.Second
	defaultTerm       = 3 * time.Second
	killTimeout       = 5 * time.Second
	outputGrace       = 500 * time.Millisecond
	// The Engine waits up to 2 s for the streams of a container before it reports its end.
	defaultExitCauseTimeout = 5 * time.Second
)

// Spec specifies a process in a container.
type Spec struct {
	Selector
	Cmd     []string  // program and arguments
	Env     []string  // KEY=value, added to the environment of the container
	User    string    // "" means that of the container
	Workdir string    // "" means that of the container
	Stderr  io.Writer // must not block; nil discards it
	Ledger  string    // folder of the records for EndOrphans; "" means none
	// CloseStdin and Term are the timeouts of these steps of Stop; zero means 2 s and 3 s.
	CloseStdin, Term time.Duration

	exitCauseTimeout time.Duration // how long to check whether the end of the container killed the process; zero means defaultExitCauseTimeout
}

// Exit describes how a process exited.
type Exit struct {
	Code int // exit status; 128 plus the signal if one terminated it; -1 if unknown
	// Reason is why Code is unknown, or "".
	Reason string
	// Lost is set if the container or the Engine stopped, so the exit is not a failure of the
	// process.
	Lost bool
}

func (e Exit) String() string {
	if e.Reason != "" {
		return e.Reason
	}
	return fmt.Sprintf("exited with status %d", e.Code)
}

// Exec is a process in an existing container, together with its descendants there.
type Exec struct {
	containedProcess
	spec      Spec
	id        string // of the exec
	container string // full id
	run       containerRun
	pid       int // in the container; 0 if the image has no shell
	shell     bool

	queryNow        chan struct{} // makes watch query the Engine immediately
	abandoned       chan struct{} // closed if the process runs and cannot be stopped
	signalledByStop atomic.Bool   // by Stop
}

// Start runs spec.Cmd in a running container and returns when it has started. ctx bounds only the
// start. Errors wrap ErrNoDocker, ErrPermission, ErrNoContainer, ErrNotRunning or ErrNoBinary if
// one of them is the cause.
//
// The process never has a terminal, which would echo input, translate line ends and merge stderr
// into stdout.
func Start(ctx context.Context, spec Spec) (*Exec, error) {
	if spec.Name == "" && spec.Label == "" && spec.Service == "" || len(spec.Cmd) == 0 || spec.Cmd[0] == "" {
		return nil, errors.New("cannot run a command in the container: no container or no command specified")
	}
	if spec.Stderr == nil {
		spec.Stderr = io.Discard
	}
	cli, at, err := newClient(spec.Engine)
	if err != nil {
		return nil, err
	}
	e := &Exec{
		containedProcess: newContained(cli, at, rand.Text()), spec: spec,
		queryNow: make(chan struct{}, 1), abandoned: make(chan struct{}),
	}
	if err := e.start(ctx); err != nil {
		cli.Close()
		return nil, err
	}
	return e, nil
}

func (e *Exec) start(ctx context.Context) (err error) {
	if e.run, err = findRunning(ctx, e.cli, e.engine, e.spec.Selector); err != nil {
		return err
	}
	e.container = e.run.id
	err = e.startInside(ctx)
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, ErrNotRunning), errors.Is(err, ErrNoDocker), errors.Is(err, ErrPermission),
		errors.Is(err, ErrNoBinary) && !e.shell:
		return err
	}
	// An Engine that does not know yet that the container is ending reports various errors, also
	// that the program is missing.
	if e.containerEnded() {
		// The text of err, not err itself, which may be ErrNoBinary.
		return fmt.Errorf("%w: the container %s stopped while it was starting: %s", ErrNotRunning, e.spec.Selector, err.Error())
	}
	return err
}

// startInside starts the process in the container.
func (e *Exec) startInside(ctx context.Context) error {
	_, err := e.cli.ContainerStatPath(ctx, e.container, client.ContainerStatPathOptions{Path: "/bin/sh"})
	e.shell = err == nil

	cmd := e.spec.Cmd
	if e.shell {
		cmd = wrapCommand(cmd)
	}
	created, err := e.cli.ExecCreate(ctx, e.container, client.ExecCreateOptions{
		AttachStdin: true, AttachStdout: true, AttachStderr: true,
		Cmd: cmd, Env: append(e.spec.Env[:len(e.spec.Env):len(e.spec.Env)], MarkVariable+"="+e.mark),
		User: e.spec.User, WorkingDir: e.spec.Workdir,
	})
	if err != nil {
		return e.spec.translateError(e.engine, err)
	}
	e.id = created.ID
	attached, err := e.cli.ExecAttach(ctx, e.id, client.ExecAttachOptions{})
	if err != nil {
		if isMissingProgram(err.Error()) {
			return fmt.Errorf("%w: %q in the container %s", ErrNoBinary, e.spec.Cmd[0], e.spec.Selector)
		}
		return e.spec.translateError(e.engine, err)
	}
	e.conn = attached.HijackedResponse
	e.stdin = stdin{conn: &e.conn, once: &sync.Once{}}
	reader, writer := io.Pipe()
	e.stdout = reader

	startLine := make(chan string, 1)
	out := &startBuffer{w: writer, passThrough: !e.shell}
	stderr := io.Writer(&startLineReader{dst: e.spec.Stderr, onLine: func(line string) {
		startLine <- line
		_ = out.release()
	}})
	if !e.shell {
		stderr = errorIgnoringWriter{e.spec.Stderr}
	}
	go func() {
		defer close(e.streamed)
		_, err := stdcopy.StdCopy(out, stderr, e.conn.Reader)
		_ = out.release()
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
			err = nil // set by watch or Stop
		}
		_ = writer.CloseWithError(err) // nil means io.EOF
		e.requestQuery()
	}()
	if err := e.confirmStarted(ctx, startLine); err != nil {
		e.abortStart()
		return err
	}
	e.addToLedger()
	watching, cancel := context.WithCancel(context.Background())
	go e.awaitExit(watching, cancel) //nolint:gosec // the process outlives the request that starts it
	return nil
}

// confirmStarted waits until the process has started, or returns why it has not.
func (e *Exec) confirmStarted(ctx context.Context, startLine <-chan string) error {
	if e.shell {
		var line string
		select {
		case line = <-startLine:
		case <-e.streamed:
			select {
			case line = <-startLine:
			default:
			}
		case <-ctx.Done():
			return fmt.Errorf("cannot run the command in the container %s: %w", e.spec.Selector, ctx.Err())
		}
		if line == missingLine {
			return fmt.Errorf("%w: %q in the container %s", ErrNoBinary, e.spec.Cmd[0], e.spec.Selector)
		}
		if digits, ok := strings.CutPrefix(line, startedLine); ok {
			e.pid, _ = strconv.Atoi(digits)
			return nil
		}
	}
	// Without the wrapper's line, query the Engine. A missing program shows as an immediate exit
	// status of 126 or 127.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		now, err := e.cli.ExecInspect(ctx, e.id, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return e.spec.translateError(e.engine, err)
		case now.Running && now.PID > 0:
			return nil
		case !now.Running && (now.ExitCode == 126 || now.ExitCode == 127):
			return fmt.Errorf("%w: %q in the container %s", ErrNoBinary, e.spec.Cmd[0], e.spec.Selector)
		case !now.Running && (now.PID > 0 || e.streamEnded()):
			return nil // started, and has exited already
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("cannot run the command in the container %s: %w", e.spec.Selector, ctx.Err())
		}
	}
}

func (e *Exec) streamEnded() bool {
	select {
	case <-e.streamed:
		return true
	default:
		return false
	}
}

// abortStart stops a process that a failed start may have left.
func (e *Exec) abortStart() {
	_ = e.conn.CloseWrite()
	if e.shell {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()
		_, _ = e.signal(ctx, "KILL", 0)
	}
	e.conn.Close()
	e.stdout.Close()
}

// isMissingProgram reports whether text is an error of the Engine about a missing program.
func isMissingProgram(text string) bool {
	return strings.Contains(text, "executable file not found") ||
		strings.Contains(text, "no such file or directory") && strings.Contains(text, "exec")
}

// WithoutShell reports whether the image has no shell, so that the process can be stopped only by
// closing its stdin, or from the host if we have the permission.
func (e *Exec) WithoutShell() bool { return !e.shell }

// PID returns the process id inside the container, or 0 if the image has no shell.
func (e *Exec) PID() int { return e.pid }

// stdin is the write half of the connection.
type stdin struct {
	conn *client.HijackedResponse
	once *sync.Once
}

func (s stdin) Write(p []byte) (int, error) { return s.conn.Conn.Write(p) }

func (s stdin) SetWriteDeadline(t time.Time) error { return s.conn.Conn.SetWriteDeadline(t) }

// Close closes the process's stdin. If the connection does not support half-closing (a named
// pipe), it does nothing, and Stop continues with its next step.
func (s stdin) Close() (err error) {
	s.once.Do(func() {
		if err = s.conn.CloseWrite(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	})
	return err
}

// errorIgnoringWriter ignores write errors, so that a failing log does not block the process.
type errorIgnoringWriter struct{ w io.Writer }

func (s errorIgnoringWriter) Write(p []byte) (int, error) {
	_, _ = s.w.Write(p)
	return len(p), nil
}

// MarkVariable is an environment variable of every process that we start in a container.
// Descendants inherit it, so that they can be found.
const MarkVariable = "DRAWBRIDGE_EXEC"

// First line on stderr, written by the wrapper. Programs do not start a line with a record
// separator by accident.
const (
	startedLine = "\x1edrawbridge-pid "
	missingLine = "\x1edrawbridge-missing"
)

// startScript prints the process id, which exec keeps, or that the program is missing.
const startScript = `command -v "$1" >/dev/null 2>&1 || { printf '\036drawbridge-missing\n' >&2; exit 127; }
printf '\036drawbridge-pid %s\n' "$$" >&2
exec "$@"`

// killScript sends signal $1 to process group $2 (0: none) and to all processes with one of the
// marks in $3, and prints the number of the latter. Without grep in the image only the group is
// signalled.
const killScript = `[ "$2" -gt 1 ] && kill -"$1" -- -"$2" 2>/dev/null
n=0
for d in /proc/[0-9]*; do
  p=${d#/proc/}
  if [ "$p" != "$$" ] && grep -q -- "$3" "$d/environ" 2>/dev/null; then
    kill -"$1" "$p" 2>/dev/null && n=$((n+1))
  fi
done
echo "$n"`

func wrapCommand(cmd []string) []string {
	return append([]string{"/bin/sh", "-c", startScript, "sh"}, cmd...)
}

// startLineReader extracts the wrapper's line from the beginning of stderr and passes the rest
// on. tell is called once with the line, or with "" if it is missing.
type startLineReader struct {
	dst    io.Writer
	onLine func(line string)
	seen   bool
	line   []byte
}

// maxStartLine is the maximum length of the wrapper's line.
const maxStartLine = 256

func (h *startLineReader) Write(p []byte) (int, error) {
	if h.seen {
		_, _ = h.dst.Write(p) // a failing log must not block the process
		return len(p), nil
	}
	h.line = append(h.line, p...)
	line, rest, whole := bytes.Cut(h.line, []byte{'\n'})
	if !whole && len(h.line) < maxStartLine {
		return len(p), nil
	}
	if h.seen = true; bytes.HasPrefix(line, []byte{0x1e}) {
		h.onLine(string(line))
	} else {
		h.onLine("")
		rest = h.line
	}
	if len(rest) > 0 {
		_, _ = h.dst.Write(rest)
	}
	h.line = nil
	return len(p), nil
}

// startBuffer buffers stdout until the wrapper's line has arrived: the Engine may deliver stdout
// before it, and nothing reads stdout during Start. It is not safe for concurrent use.
type startBuffer struct {
	w           io.Writer
	buffered    []byte
	passThrough bool
}

// maxBuffered is the maximum size of the buffer. If it is exceeded, startBuffer stops buffering.
const maxBuffered = 1 << 20

func (h *startBuffer) Write(p []byte) (int, error) {
	if !h.passThrough && len(h.buffered)+len(p) <= maxBuffered {
		h.buffered = append(h.buffered, p...)
		return len(p), nil
	}
	if err := h.release(); err != nil {
		return 0, err
	}
	return h.w.Write(p)
}

// release writes the buffer to w, and blocks until it has been read.
func (h *startBuffer) release() error {
	h.passThrough = true
	held := h.buffered
	h.buffered = nil
	if len(held) == 0 {
		return nil
	}
	_, err := h.w.Write(held)
	return err
}
