package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Connection is an open connection to a server whose lists have been read. It is implemented by
// *upstream.Connection.
type Connection interface {
	Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
	Catalog() *core.Catalog
	Ping(ctx context.Context) error
	// Refresh reads the lists of kinds again; see upstream.Conn.
	Refresh(ctx context.Context, kinds ...core.Kind) error
	Peer() Peer
	Done() <-chan struct{}
	Err() error
	// Close closes the connection. It returns after its process has exited.
	Close(ctx context.Context) error
}

// Session is a Connection and a description of the process behind it.
type Session struct {
	Connection
	Process Process
}

// Process describes what was started. The zero value means that nothing was started.
type Process struct {
	Command string              // resolved, without environment
	PID     int                 // 0 when there is no local process
	Exit    func() (Exit, bool) // returns false while it runs; nil if unknown

	Path        string         // path of the executable
	Dir         string         // working directory; "" is that of Drawbridge
	Environment []string       // names of the variables, sorted
	SearchPath  string         // the PATH in which Path was searched
	Warnings    []string       // about how it was started
	Frames      func() []Frame // returns the last messages; nil if not recorded
}

// Exit describes how a process exited.
type Exit struct {
	Code int    // exit status; -1 if it was terminated by a signal
	Text string // for display: "exited with status 3"
	Lost bool   // its container was stopped or removed
	// SignalledByStop is set if Drawbridge had sent it a signal before.
	SignalledByStop bool
}

// Request asks for a connection.
type Request struct {
	Server *config.Server
	Era    core.Era // the only era to try; "" means any, legacy first
	// Owner identifies the instance, for OnNotification.
	Owner string
	// Workspace is the value of ${workspaceFolder}, or "" if unknown.
	Workspace string
	// SkipCatalog skips reading the lists, so the catalog is empty.
	SkipCatalog bool
	// Started is called, from any goroutine, when a process was started, before it answers, and
	// again if another one is started. May be nil.
	Started func(Process)
	// Changed is called, from any goroutine, when the lists of a kind have been read again.
	Changed func(core.Kind)

	launch *launchAttempt // set by connectDirectly
}

// Explains reports whether the exit status explains more than that the connection broke. A
// status of 0, or a signal that we sent, may be the result of our own stop.
func (e Exit) Explains(byItself bool) bool {
	switch {
	case e.Code > 0:
		return true
	case e.Code < 0:
		return !e.SignalledByStop
	}
	return byItself && !e.SignalledByStop
}

// eraCache caches for this run which era each server speaks, so that the next start begins with it.
// Probing costs a request, and for some servers a process.
type eraCache struct {
	mu    sync.Mutex
	known map[string]core.Era
	next  map[string]core.Era // era to try first, after a process exited in the other one
}

// firstEra returns the era to try first, and whether it is only a guess.
func (e *eraCache) firstEra(key string) (era core.Era, guessed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if era, ok := e.known[key]; ok {
		return era, false
	}
	era, guessed = e.next[key]
	return era, guessed
}

// recordExit records that a process exited before it answered. The next start tries the other era
// first, because it may be the only one that the server speaks.
func (e *eraCache) recordExit(key string, tried core.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, key)
	if tried == core.Modern {
		delete(e.next, key)
		return
	}
	if e.next == nil || len(e.next) >= maxEras {
		e.next = map[string]core.Era{}
	}
	e.next[key] = core.Modern
}

// maxEras is the maximum number of entries in each map of eras. A full map is cleared.
const maxEras = 1000

func (e *eraCache) recordEra(key string, era core.Era) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= maxEras {
		e.known = map[string]core.Era{}
	}
	e.known[key] = era
	delete(e.next, key)
}

const (
	// fetchLimit is how long a launcher may download a server, in addition to the startup timeout.
	fetchLimit         = 8 * time.Minute
	fetchCheckInterval = 2 * time.Second
)

// StartupContext returns the context of a start. While a launcher downloads the server, the
// startup timeout does not run: if npx is killed during a download it leaves half a package,
// and every later start fails. A limit below the default was set by the user and is kept.
func StartupContext(ctx context.Context, limit time.Duration, fetching func() bool) (context.Context, context.CancelFunc) {
	if limit < config.DefaultStartupTimeout {
		return context.WithTimeout(ctx, limit)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	last := time.Now().Add(limit + fetchLimit)
	go func() {
		defer close(ended)
		timer := time.NewTimer(limit)
		defer timer.Stop()
		for fetched := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			switch left := time.Until(last); {
			case left > 0 && fetching():
				fetched = true
				timer.Reset(min(fetchCheckInterval, left))
			case left > 0 && fetched: // the download is over: the startup timeout begins
				fetched = false
				timer.Reset(min(limit, left))
			default:
				cancel(context.DeadlineExceeded)
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// StartupTimeout returns the startup timeout of c, which bounds a start.
func StartupTimeout(c *config.Server) time.Duration {
	if c.StartupTimeout <= 0 {
		return config.DefaultStartupTimeout
	}
	return c.StartupTimeout
}

// Trial is the result of a trial start of a server.
type Trial struct {
	Err     error       // why the server cannot be used, or nil
	Reason  string      // Err for display, or ""
	Hint    string      // what the user can do, or ""
	Remedy  core.Remedy // Hint for programs; may be zero
	Reached bool        // it was started or reached; if Err is set, the connection failed
	Command string
	Took    time.Duration
	Era     core.Era
	Version string
	Catalog *core.Catalog    // never nil
	Log     []serverlog.Line // its stderr and lifecycle events
	Warning []string
}

// Limits of a trial.
const (
	maxTrial         = 2 * time.Minute
	maxTrialLogLines = 50
	maxTrials        = 4 // at the same time
	trialIDPrefix    = "test-"
)

// BeginTrial reserves one of the trials that may run at the same time, until end.
func (d *Dialer) BeginTrial() (end func(), err error) {
	if d.trials.Add(1) > maxTrials {
		d.trials.Add(-1)
		return nil, &core.Error{Code: core.CodeRateLimited, Message: "four servers are already being tested", Hint: "Wait until one of the tests has finished.", Retriable: true}
	}
	return func() { d.trials.Add(-1) }, nil
}

// Try starts or reaches the server of c as Connect does, reads its lists, and stops it before it
// returns. It saves neither a catalog nor a log, and leaves no process and no container. as is
// the id of the configured server whose sign-in it uses, or "" for none. If use is not nil, it is
// called with the connection before the server is stopped; the time limit of the trial does not
// include it.
func (d *Dialer) Try(ctx context.Context, c *config.Server, as string, use func(Connection)) Trial {
	once := *c
	once.ID = TrialID(c.ID)
	logs := serverlog.Open("", d.Redact) // in memory only
	defer logs.Close()
	own := &Dialer{
		Spawner: d.Spawner, Ready: d.Ready, Logs: logs, Log: slog.New(slog.DiscardHandler), Secret: d.Secret,
		ClientInfo: d.ClientInfo, Capabilities: json.RawMessage(`{}`), DockerLedger: d.DockerLedger, DefaultWorkspace: d.DefaultWorkspace,
		SignIn: d.TrialSignIn, PrivatePaths: d.PrivatePaths, Redact: d.Redact, trial: true,
	}
	if as != "" { // the lists must be comparable: servers omit tools for which the client has no capability
		own.Capabilities = d.Capabilities
	}
	if as != "" && d.SignIn != nil {
		own.SignIn = borrowedSignIn{d.SignIn, as}
	}
	limit := min(StartupTimeout(&once), maxTrial)
	ctx, cancel := StartupContext(ctx, limit, func() bool { return own.DownloadingLauncher(once.ID) != "" })
	defer cancel()
	began := time.Now()
	t := Trial{Catalog: &core.Catalog{}}
	session, err := own.Connect(ctx, Request{Server: &once, Changed: func(core.Kind) {}})
	t.Took, t.Command, t.Warning = time.Since(began), session.Process.Command, session.Process.Warnings
	t.Reached = session.Process.Exit != nil || once.URL != "" && once.Command == ""
	if err != nil {
		if t.Err = err; errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Err = &core.Error{Code: core.CodeTimeout, Cause: err, Message: "did not respond within " + limit.String(),
				Hint: "Check its log, or increase startupTimeoutMs.", Remedy: core.EditConfig("startupTimeoutMs")}
			if hint, remedy := HTTPModeAdvice(own.LastLines(once.ID, MaxLines, began)); hint != "" && once.Type == core.Stdio {
				t.Err = &core.Error{Code: core.CodeTimeout, Cause: err, Message: "did not respond within " + limit.String(), Hint: hint, Remedy: remedy}
			}
			t.explainUnusableOutput(err)
		}
	} else {
		t.Era, t.Version, t.Catalog = session.Peer().Era, session.Peer().Version, session.Catalog()
		if use != nil {
			use(session)
		}
		if err := session.Close(context.WithoutCancel(ctx)); err != nil {
			t.Warning = append(t.Warning, "cannot stop it: "+err.Error())
		}
	}
	t.Log = logs.Tail(once.ID, maxTrialLogLines)
	t.explain(session.Process, once.Type == core.Stdio, once.Args, own.LastLines(once.ID, MaxLines, began), once.ID, c.ID)
	if errors.Is(t.Err, core.ErrNeedsLogin) {
		t.Reason, t.Hint = "it requires you to sign in", "Add the server; then sign in on its page, or with: drawbridge login "+c.ID+"."
		if as != "" {
			t.Hint = "Sign in on its page, or with: drawbridge login " + as + "."
		}
	}
	return t
}

// explainUnusableOutput adds to the timeout in t.Err what the server sent instead of a response.
func (t *Trial) explainUnusableOutput(cause error) {
	timeout, ok := errors.AsType[*core.Error](t.Err)
	unusable, sent := errors.AsType[*wire.UnusableOutputError](cause)
	if ok && sent {
		timeout.Message += ": " + unusable.Problem
		timeout.Hint, timeout.Remedy = unusable.Hint, core.Remedy{Kind: core.RemedySeeLog}
	}
}

// TrialID returns the id that a server has in the messages of a trial.
func TrialID(server string) string {
	return strings.TrimRight(trialIDPrefix+server[:min(len(server), core.MaxServerID-len(trialIDPrefix))], "-_")
}

// borrowedSignIn uses the sign-in of a configured server.
type borrowedSignIn struct {
	SignIn
	id string
}

func (l borrowedSignIn) Client(ctx context.Context, c *config.Server, address, clientSecret string) (*http.Client, error) {
	owner := *c
	owner.ID = l.id
	return l.SignIn.Client(ctx, &owner, address, clientSecret)
}

// explain sets Reason and Hint. It replaces the id of the trial with name, which the user chose.
func (t *Trial) explain(p Process, isStdio bool, args, lines []string, id, name string) {
	if t.Err == nil {
		return
	}
	t.Reason = t.Err.Error()
	if own, ok := errors.AsType[*core.Error](t.Err); ok {
		t.Reason, t.Hint, t.Remedy = own.Message, own.Hint, own.Remedy
	}
	if code := core.CodeOf(t.Err); p.Exit != nil && (code == core.CodeUnavailable || code == core.CodeInternal) {
		if exit, ok := p.Exit(); ok && exit.Explains(Exited(t.Err)) { // the exit status says more than that the connection broke
			reason, line, isCause := Explain(exit.Text, exit.Code < 0, lines)
			t.Reason, t.Hint, t.Remedy = reason, "", core.Remedy{}
			if isCause {
				t.Hint, t.Remedy = Advice(line, lines, p.Path)
			}
		}
	}
	if hint, remedy := p.CacheHint(lines); hint != "" {
		t.Hint, t.Remedy = hint, remedy
	}
	if hint, remedy := p.InputHint(args); hint != "" && isStdio {
		t.Hint, t.Remedy = hint, remedy
	}
	for _, prefix := range []string{fmt.Sprintf("cannot connect to server %q: ", id), ErrDependencyMissing.Error() + ": "} {
		t.Reason = strings.TrimPrefix(t.Reason, prefix)
	}
	t.Reason = strings.ReplaceAll(t.Reason, fmt.Sprintf("%q", id), fmt.Sprintf("%q", name))
}
