package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dockerexec"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Dialer opens connections to real servers. Connect has the type of supervisor.Connect.
// Spawner, Logs and Log are required.
type Dialer struct {
	Spawner *process.Spawner
	Logs    *serverlog.Logs
	Log     *slog.Logger
	// Ready blocks until servers may be started. nil means immediately.
	Ready func(ctx context.Context) error

	ClientInfo   json.RawMessage // of Drawbridge; see upstream.Options
	Capabilities json.RawMessage
	// Secret returns the value of ${secret:NAME}. If it fails with core.CodeUnavailable, the
	// server waits. May be nil.
	Secret func(ctx context.Context, name string) (string, error)
	// Observer receives the messages of servers that the user is debugging. May be nil.
	Observer Observer
	// DockerLedger is the folder of the records of running docker execs, from which the next
	// start of Drawbridge cleans up leftovers. "" means that no records are written.
	DockerLedger string

	// DefaultWorkspace is the value of ${workspaceFolder} while no workspace is known, for
	// example when a server is started only to read its catalog. The folder is created if missing
	// and should stay empty. "" means the user's home directory.
	DefaultWorkspace string

	// PrivatePaths returns files and folders that a sandboxed server may not read, such as our own;
	// optional.
	PrivatePaths func() []string

	// Redact masks secrets in a command before it is shown. May be nil.
	Redact func(string) string

	// SignIn authorizes requests to remote servers. If it is nil, a server that asks for a
	// sign-in fails.
	SignIn SignIn
	// TrialSignIn is used by Try in place of SignIn for servers that are not configured. May be
	// nil.
	TrialSignIn SignIn

	// Recording returns the recorded calls to a server, for replay servers. Without it, only
	// cassettes can be served.
	Recording func(ctx context.Context, from config.Replay) (*cassette.Recording, error)

	// DefinitionHash and Package identify what answers calls; see core.ServedBy. pids are the
	// processes of the server. Both may be nil.
	DefinitionHash func(raw []byte) [16]byte
	Package        func(c *config.Server, pids []int) string
	// Launcher starts what a package launcher would start. May be nil.
	Launcher Launcher

	// Start starts the process of a stdio server in place of the Spawner, for a simulation. nil means
	// real processes.
	Start func(c *config.Server) (Pipe, error)

	trials atomic.Int32 // running: see BeginTrial

	trial     bool // for a trial, which has no later start: if the process exits, Connect starts another one for the other era
	running   runningProcesses
	sandboxes sandboxState
	// loginEnv reads the environment of the login shell, and expire marks it as outdated. nil
	// means the functions of package process.
	loginEnv       func(context.Context) (map[string]string, error)
	expireLoginEnv func(age time.Duration) bool
	eras           eraCache // by launchKey: the eras that servers speak
	// Callbacks must be set before the first connection.
	Callbacks
}

// Callbacks lead from a server back to the clients. They are the only part of a Dialer that is set
// after the parts that use it have been created. All may be nil.
type Callbacks struct {
	// OnNotification and OnRequest receive what a server sends outside of any call; see
	// upstream.Options. owner is that of the Request.
	OnNotification func(server, owner, method string, params json.RawMessage)
	OnRequest      func(ctx context.Context, server, owner, method string, params json.RawMessage) (core.Reply, error)
	// OnModernChange is called when a connection of the modern era was opened or has ended, except
	// one that serves a single call.
	OnModernChange func(server string)
	// LiveCall sends a request to a server as a call of a client, for replay servers.
	LiveCall func(ctx context.Context, server, method, name string, params json.RawMessage) (core.Reply, error)
}

// Connect starts or reaches the server of r by its transport, performs the handshake and reads
// its lists. If the executable is not found, it reads the environment of the login shell again
// and retries once, because the executable may just have been installed.
func (d *Dialer) Connect(ctx context.Context, r Request) (Session, error) {
	session, err := d.connectAgain(ctx, r)
	if err != nil && d.Redact != nil {
		err = &redactedError{err, d.Redact}
	}
	return session, err
}

func (d *Dialer) connectAgain(ctx context.Context, r Request) (Session, error) {
	session, err := d.connectDirectly(ctx, r)
	if err == nil || r.Server.Command == "" {
		return session, err
	}
	if errors.Is(err, process.ErrNotFound) && d.expireLogin(loginAgeNotFound) {
		return d.connectDirectly(ctx, r)
	}
	d.expireLogin(loginAgeFailed)
	return session, err
}

func (d *Dialer) connect(ctx context.Context, r Request) (Session, error) {
	c := r.Server
	if d.Ready != nil {
		if err := d.Ready(ctx); err != nil {
			return Session{}, err
		}
	}
	stdoutLog := d.Logs.Writer(c.ID) // which limits lines per second
	o := Options{
		Server: c.ID, Account: c.Account, Era: r.Era, SkipCatalog: r.SkipCatalog, Framing: wire.Framing(c.Framing),
		ClientInfo: d.ClientInfo, Capabilities: d.Capabilities,
		OnListChanged: r.Changed, Log: d.Log, DefinitionHash: d.DefinitionHash,
		OnJunk: func(line []byte, reason string) {
			fmt.Fprintf(stdoutLog, "stdout: %s: %s\n", reason, bytes.TrimRight(line, "\r\n"))
		},
	}
	if d.OnNotification != nil {
		o.OnNotification = func(method string, params json.RawMessage) { d.OnNotification(c.ID, r.Owner, method, params) }
	}
	if d.OnRequest != nil {
		o.OnRequest = func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
			return d.OnRequest(ctx, c.ID, r.Owner, method, params)
		}
	}
	env := d.readEnvironment(ctx)
	started := &startedProcess{onStarted: r.Started}
	var err error
	if env.workspace, err = d.workspace(r); err != nil {
		return Session{}, err
	}
	var container dockerexec.Selector
	switch c.Type {
	case core.Stdio:
		if d.Start != nil {
			o.Dial = func(context.Context) (Pipe, error) { return d.Start(c) }
			break
		}
		spec, err := d.processSpec(c, env, started)
		if err == nil {
			spec, err = r.launch.choose(d, c, spec, started)
		}
		if err != nil {
			return Session{Process: started.describe()}, err
		}
		o.Dial = func(context.Context) (Pipe, error) {
			if exit := started.describe().Exit; exit != nil { // the second start of a trial, in the other era
				if e, ended := exit(); ended && e.Code > 0 { // it crashed: it would again
					return nil, core.Errorf(core.CodeUnavailable, "%s", e.Text)
				}
			}
			return d.spawn(c, spec, started)
		}
	case core.Docker:
		if o.Dial, container, started.Command, err = d.dialDocker(c, env, started); err != nil {
			return Session{Process: started.describe()}, err
		}
	case core.Replay:
		if o.Dial, started.Command, err = d.dialReplay(ctx, c, env, started); err != nil {
			return Session{Process: started.describe()}, err
		}
	case core.HTTP, core.SSE:
		at, shown, err := remoteEndpoint(c, env)
		if err != nil {
			return Session{}, err
		}
		at.OnMessage = d.recordRemoteFrames(c.ID, started.newRecorder())
		o.Remote, started.Command = at, d.redact(shown)
		if at.HTTP, err = d.signIn(ctx, c, at, env); err != nil {
			return Session{Process: started.describe()}, err
		}
		// A second connection, in another era, uses the program that runs already.
		if c.Command != "" && r.Era == "" {
			conn, err := d.dialLocalHTTP(ctx, c, env, started, o)
			return Session{Connection: conn, Process: started.describe()}, d.asMissingLogin(c.SignInID(), err)
		}
	default:
		return Session{}, core.Errorf(core.CodeValidation, "unsupported server type %q", c.Type)
	}
	key := c.LaunchKey()
	o.FirstEra, o.FirstEraIsGuess = d.eras.firstEra(key)
	o.OneProcess = !d.trial
	conn, err := Connect(ctx, o)
	if err != nil {
		if started.lost() { // the container ended, which says nothing about the server
			return Session{Process: started.describe()}, dockerError(container, fmt.Errorf("%w: it stopped while it was starting", dockerexec.ErrNotRunning))
		}
		if Exited(err) && r.Era == "" {
			d.eras.recordExit(key, o.FirstEra)
		}
		return Session{Process: started.describe()}, d.asMissingLogin(c.SignInID(), err)
	}
	if r.Era == "" {
		d.eras.recordEra(key, conn.Peer().Era)
	}
	r.launch.connected(d, started)
	if conn.Peer().Era == core.Modern && d.OnModernChange != nil && !r.SkipCatalog && !d.trial {
		go func() {
			d.OnModernChange(c.ID)
			<-conn.Done()
			d.OnModernChange(c.ID)
		}()
	}
	if d.Package != nil {
		conn.SetPackage(d.Package(c, d.pids(c.ID)))
	}
	if refusals := started.refusalDetector(); refusals != nil {
		return Session{Connection: &confinedConn{conn, refusals}, Process: started.describe()}, nil
	}
	return Session{Connection: conn, Process: started.describe()}, nil
}

// unfitFolder reports whether servers must not run in dir, in which the system has started us: Finder uses /,
// the start at login of Windows its system folder, and the shortcut in its Start menu the folder of program.
func unfitFolder(goos, dir, program, system string) bool {
	switch goos {
	case "darwin":
		return dir == "/"
	case "windows":
		return strings.EqualFold(dir, program) || system != "" && strings.HasPrefix(strings.ToLower(dir), strings.ToLower(system))
	}
	return false
}

// processSpec returns what to start for a stdio server, and records in s what debug information
// shows.
func (d *Dialer) processSpec(c *config.Server, env environment, s *startedProcess) (process.Spec, error) {
	vars, err := env.forServer(c)
	if err != nil {
		return process.Spec{}, err
	}
	s.Environment = slices.Sorted(maps.Keys(vars))
	s.SearchPath = vars["PATH"]
	s.Warnings = env.withheldWarnings(c, vars)
	command, err := env.expand("command", c.Command)
	if err != nil {
		return process.Spec{}, err
	}
	args, err := env.expandList("args", c.Args)
	if err != nil {
		return process.Spec{}, err
	}
	dir, err := env.expand("cwd", c.Cwd)
	if err != nil {
		return process.Spec{}, err
	}
	if dir == "" {
		own, _ := os.Getwd()
		self, _ := os.Executable()
		if home, err := os.UserHomeDir(); err == nil && unfitFolder(runtime.GOOS, own, filepath.Dir(self), os.Getenv("SystemRoot")) {
			dir = home
		}
	}
	path, err := process.Resolve(command, vars["PATH"])
	if err != nil {
		err = startError(command, err)
		if e, ok := errors.AsType[*core.Error](err); ok && env.loginErr != nil && errors.Is(err, process.ErrNotFound) {
			e.Hint = fmt.Sprintf("The PATH may be incomplete: the %v. %s", env.loginErr, e.Hint)
		}
		return process.Spec{}, err
	}
	// Arguments as in the configuration: expanded ones may contain a secret, and so may others.
	s.Command = d.redact(osutil.CommandLine(append([]string{path}, c.Args...)...))
	s.Path, s.Dir = path, dir
	return process.Spec{Name: c.ID, Path: path, Args: args, Env: envList(vars), Dir: dir}, nil
}

// spawn starts the process. Each start has its own writer to the server's log.
func (d *Dialer) spawn(c *config.Server, spec process.Spec, s *startedProcess) (Pipe, error) {
	stderr := d.Logs.Writer(c.ID)
	spec.Stderr = stderr
	path := spec.Path
	confined, err := d.confine(c, &spec, s)
	if err != nil {
		return nil, errors.Join(err, stderr.Close())
	}
	p, ended, err := d.startTrackingContainer(c, spec)
	notConfined := confined()
	if err != nil {
		return nil, startError(path, err)
	}
	if notConfined != nil {
		return nil, errors.Join(notConfined, p.Stop(context.Background()), ended(), stderr.Close())
	}
	recorder := s.newRecorder()
	s.set(p.PID(), func() (Exit, bool) {
		select {
		case <-p.Done():
			return Exit{Code: p.Exit().Code, Text: p.Exit().String(), SignalledByStop: p.Exit().SignalledByStop}, true
		default:
			return Exit{}, false
		}
	})
	running := localProcess{p, launcherName(path)}
	d.running.add(c.ID, running)
	return &pipeWithStop{Pipe: recordPipe(p, recorder, c.ID, d.Observer), stopped: func() error {
		d.running.remove(c.ID, running)
		return errors.Join(ended(), stderr.Close())
	}}, nil
}

// pipeWithStop is a pipe that calls stopped after it has been stopped, for example to close the
// log writer, which flushes the last, incomplete line of stderr.
type pipeWithStop struct {
	Pipe
	stopped func() error
}

func (w *pipeWithStop) Stop(ctx context.Context) error {
	return errors.Join(w.Pipe.Stop(ctx), w.stopped())
}

// startError returns the error of a process that could not be started. It is retriable only if the
// machine was short of a resource.
func startError(command string, err error) error {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM} {
		if errors.Is(err, passing) {
			return &core.Error{Code: core.CodeUnavailable, Retriable: true, Cause: err,
				Message: fmt.Sprintf("cannot start %s: %v", command, err)}
		}
	}
	message, hint, remedy := err.Error(), "Correct the server's command, cwd or PATH; the change takes effect immediately.", core.EditConfig("command")
	if errors.Is(err, process.ErrNotFound) && !strings.ContainsAny(command, `/\`) {
		message = fmt.Sprintf("%v: %q", process.ErrNotFound, command) // without the PATH, which only the log contains
		hint, remedy = InstallAdvice(command)
	}
	if trimmed := strings.TrimSpace(command); errors.Is(err, process.ErrNotFound) && trimmed != command {
		message, hint = fmt.Sprintf("%v: %q", process.ErrNotFound, command), "Remove the blanks around the command."
	} else if errors.Is(err, process.ErrNotFound) && strings.Contains(command, " ") && len(strings.Fields(command)) > 1 {
		message, hint = fmt.Sprintf("%v: %q", process.ErrNotFound, command), "Set command to the program alone, and put the rest into args."
		remedy = core.EditConfig("command")
	}
	return &core.Error{Code: core.CodeValidation, Cause: err, Message: message, Hint: hint, Remedy: remedy}
}

// startedProcess describes the newest process of one Connect. Connect may start a second one if
// the first exits in an era that it does not speak.
type startedProcess struct {
	onStarted func(Process) // may be nil

	mu sync.Mutex
	Process
	refusals *refusalDetector // nil if it is not confined
}

func (s *startedProcess) setRefusals(to *refusalDetector) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = to
}

func (s *startedProcess) refusalDetector() *refusalDetector {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refusals
}

func (s *startedProcess) set(pid int, exit func() (Exit, bool)) {
	s.mu.Lock()
	s.PID, s.Exit = pid, exit
	s.mu.Unlock()
	if s.onStarted != nil {
		s.onStarted(s.describe())
	}
}

// addWarning adds a warning about how the process was started, once.
func (s *startedProcess) addWarning(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.Warnings, text) {
		s.Warnings = append(slices.Clip(s.Warnings), text)
	}
}

func (s *startedProcess) newRecorder() *frameRecorder {
	t := &frameRecorder{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Frames = t.last
	return t
}

func (s *startedProcess) describe() Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Process
}

// lost reports whether the container of the process was stopped or removed.
func (s *startedProcess) lost() bool {
	p := s.describe()
	if p.Exit == nil {
		return false
	}
	exit, ended := p.Exit()
	return ended && exit.Lost
}

// LastLines returns up to n lines that a server wrote to stderr since a time, oldest first,
// cleaned by serverlog.Clean.
func (d *Dialer) LastLines(server string, n int, since time.Time) []string {
	var list []string
	lines := d.Logs.Tail(server, 500)
	for i := len(lines) - 1; i >= 0 && len(list) < n && !lines[i].At.Before(since); i-- {
		if lines[i].Level == serverlog.Stderr && strings.TrimSpace(lines[i].Text) != "" {
			list = append(list, serverlog.Clean(lines[i].Text))
		}
	}
	slices.Reverse(list)
	return list
}

// Journal writes a lifecycle event to a server's own log.
func (d *Dialer) Journal(server string, level slog.Level, text string) {
	kind := serverlog.Info
	switch {
	case level >= slog.LevelError:
		kind = serverlog.Error
	case level >= slog.LevelWarn:
		kind = serverlog.Warn
	}
	d.Logs.Append(server, kind, text)
}
