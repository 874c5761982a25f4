package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ErrAbsent is wrapped by errors of Connect that are caused by a missing external dependency,
// such as Docker or a container. The server waits for it.
var ErrAbsent = errors.New("waiting")

// connection is one open connection, through which calls are sent.
type connection struct {
	Session
	of       *runner
	inFlight atomic.Int64
	resting  atomic.Bool  // being closed because it is idle
	heard    atomic.Int64 // when the server last sent anything, Unix nanoseconds
	// ended is closed when the connection is closed and its process has exited. Then why is how
	// the process exited, or "" if unknown.
	ended chan struct{}
	why   string
}

// Send sends call. It fails immediately if the connection breaks.
func (l *connection) Send(ctx context.Context, call *core.Call, sink core.Sink) (core.Reply, error) {
	l.inFlight.Add(1)
	if l.resting.Load() {
		l.inFlight.Add(-1)
		return l.of.resend(ctx, call, sink)
	}
	defer l.inFlight.Add(-1)
	reply, err := l.Conn.Send(ctx, call, sink)
	now := time.Now().UnixNano()
	l.of.used.Store(now)
	if err == nil {
		l.heard.Store(now)
	}
	return reply, l.explain(ctx, err)
}

// explainLimit is how long a failed call waits for the exit status of the process.
const explainLimit = 1500 * time.Millisecond

// explain adds how the process exited to an error that says only that the server is gone.
func (l *connection) explain(ctx context.Context, err error) error {
	gone, ok := errors.AsType[*core.Error](err)
	if !ok || gone.Hint != wire.SeeLog || l.Process.Exit == nil {
		return err
	}
	limit := time.NewTimer(explainLimit)
	defer limit.Stop()
	select {
	case <-l.ended:
	case <-limit.C:
		return err
	case <-ctx.Done():
		return err
	}
	if l.why == "" {
		return err
	}
	told := *gone
	told.Message += ": " + l.why
	told.Hint = "See its log: drawbridge logs " + l.of.id + "."
	return &told
}

func newConnection(session Session, of *runner) *connection {
	return &connection{Session: session, of: of, ended: make(chan struct{})}
}

func (l *connection) watchLists() { l.heard.Store(time.Now().UnixNano()) }

func (l *connection) silence() time.Duration { return time.Since(time.Unix(0, l.heard.Load())) }

// lost returns a channel that is closed when the connection breaks. It returns nil if l is nil.
func (l *connection) lost() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.Conn.Done()
}

// usable reports whether the connection is open. Callers check this because a connection may
// break before its runner has handled that.
func (l *connection) usable() bool {
	if l == nil || l.resting.Load() {
		return false
	}
	select {
	case <-l.Conn.Done():
		return false
	default:
		return true
	}
}

// begin starts the server in a helper goroutine, which posts the result.
func (r *runner) begin() {
	c := r.config()
	ctx, giveUp := context.WithCancelCause(context.Background())
	cancel := func() { giveUp(nil) }
	r.abort, r.giveUp, r.failedFor, r.began = cancel, giveUp, 0, time.Now()
	r.pending++
	r.starts++
	r.process, r.detail = Process{}, ""
	r.watch.Reset(watchEvery)
	n := r.starts
	started := func(p Process) {
		r.post(func() {
			if r.state.phase == phaseStarting && r.starts == n {
				r.process = p
				r.publish()
			}
		})
	}
	r.helpers.Go(func() {
		session, err := r.connect(ctx, c, "", startup(c), started)
		cancel()
		if err == nil && r.own == nil {
			r.remember(c, session.Catalog())
		}
		r.post(func() { r.begun(session, err) })
	})
}

// connect opens a connection. limit is the startup timeout, counted from the moment at which the
// start gets its slot.
func (r *runner) connect(ctx context.Context, c *config.Server, era core.Era, limit time.Duration, started func(Process)) (Session, error) {
	request := Request{Server: c, Era: era, Workspace: r.whose.workspace, Changed: func(core.Kind) {}}
	if r.own == nil { // in both eras: a list may change in the process that served a call
		request.Changed = func(kind core.Kind) { r.post(func() { r.relisted(kind) }) }
	}
	request.Started = started
	return r.start(ctx, request, limit)
}

func (r *runner) start(ctx context.Context, request Request, limit time.Duration) (Session, error) {
	release, err := r.s.slot(ctx)
	if err != nil {
		return Session{}, err
	}
	defer release()
	ctx, cancel := startupContext(ctx, limit, r.fetching)
	defer cancel()
	session, err := r.s.o.Connect(ctx, request)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = &core.Error{Code: core.CodeTimeout, Retriable: true, Cause: err,
			Message: fmt.Sprintf("did not answer within %s (startupTimeoutMs)", limit), Hint: slowHint(request.Server)}
	}
	return session, err
}

// slowHint returns the hint for a stdio server that did not answer during its start. A server
// that reads only messages with a Content-Length header understands none of ours and seems to
// hang.
func slowHint(c *config.Server) string {
	if c.Type != core.Stdio || c.Framing != "" && c.Framing != config.FramingAuto {
		return ""
	}
	return `If it only needs longer, raise startupTimeoutMs. If it reads messages with a Content-Length header, set "framing": "content-length".`
}

// slot waits for one of the slots that limit parallel starts. The slot is released after slotTime
// even if the start is still in progress, so that a slow download does not delay other servers.
func (s *Supervisor) slot(ctx context.Context) (release func(), err error) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	give := sync.OnceFunc(func() { <-s.slots })
	early := time.AfterFunc(slotTime, give)
	return func() {
		early.Stop()
		give()
	}, nil
}

// begun handles the result of a start.
func (r *runner) begun(session Session, err error) {
	r.pending--
	r.process = session.Process
	stopping := r.state.phase != phaseStarting
	switch {
	case err == nil && stopping:
		r.closeConnection(newConnection(session, r))
	case err == nil:
		r.primary, r.took = newConnection(session, r), time.Since(r.began)
		r.primary.watchLists()
		r.connected()
	case stopping: // the start was aborted, so its error is expected
	default:
		r.unsigned = errors.Is(err, core.ErrNeedsLogin)
		r.fail(err)
		r.recordMissingDependency(err)
		r.step(r.failure(err))
	}
	r.settle()
}

// failureOf returns the event of the state machine for err.
func failureOf(err error) event {
	switch {
	case errors.Is(err, ErrAbsent):
		return evAbsent
	case core.CodeOf(err) == core.CodeValidation:
		return evRefused
	}
	return evFailed
}

// connected updates the registry with the catalog, and then enters the running phase.
func (r *runner) connected() {
	l := r.primary
	catalog := l.Catalog()
	if r.own == nil {
		r.s.o.Registry.Update(r.id, catalog)
	}
	r.used.Store(max(r.used.Load(), r.began.UnixNano()))
	r.step(evConnected)
	r.arm()
	r.s.o.Log.Info("MCP server connected", "server", r.id, "tools", len(catalog.Tools), "era", l.Era(), "version", l.Version())
	r.s.o.Journal(r.id, slog.LevelInfo, fmt.Sprintf("connected, %d tools", len(catalog.Tools)))
	for _, w := range catalog.Warnings {
		r.s.o.Journal(r.id, slog.LevelWarn, w)
	}
}

// relisted updates the registry with lists that the connection has read again.
func (r *runner) relisted(kind core.Kind) {
	if r.primary == nil {
		return // connected uses the newest catalog anyway
	}
	c, catalog := r.config(), r.primary.Catalog()
	r.primary.watchLists()
	r.s.o.Registry.Update(r.id, catalog, kind)
	r.publish()
	r.helpers.Go(func() { r.remember(c, catalog) })
}

// remember saves the catalog for the next run.
func (r *runner) remember(c *config.Server, catalog *core.Catalog) {
	if r.s.o.Catalogs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := r.s.o.Catalogs.SaveCatalog(ctx, r.id, launchKey(c), catalog); err != nil {
		r.s.o.Log.Warn("Cannot save catalog", "server", r.id, "error", err)
	}
}

// end aborts a start and closes the connections.
func (r *runner) end() {
	if r.abort != nil {
		r.abort()
	}
	if l := r.primary; l != nil {
		r.primary = nil
		r.closeConnection(l)
	}
	r.endSecondEra()
}

// closeConnection closes a connection in a helper goroutine. The stop of the server is complete
// only when that is done.
func (r *runner) closeConnection(l *connection) {
	r.pending++
	r.helpers.Go(func() {
		err := l.Close(r.s.closing)
		r.post(func() {
			r.pending--
			if err != nil {
				r.s.o.Log.Error("Cannot end MCP server", "server", r.id, "error", err)
				r.s.o.Journal(r.id, slog.LevelError, err.Error())
			}
			if r.state.failed {
				r.noteExit()
				if r.exitCode != nil {
					l.why = r.reason
				}
				if exit, ok := r.exited(); ok && exit.Away {
					r.state.failed = false // the container went away: not a failure of the server
				}
			}
			close(l.ended)
			r.settle()
		})
	})
}
