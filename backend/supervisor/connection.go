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

// ErrAbsent in the chain of a Connect's error says that something outside is
// missing, such as Docker or a container: the server waits for it.
var ErrAbsent = errors.New("waiting")

// connection is one open connection. It is what callers send through.
type connection struct {
	Session
	of       *runner
	inFlight atomic.Int64
	resting  atomic.Bool  // being ended, because nobody used it
	heard    atomic.Int64 // when the server was last heard of, Unix nanoseconds
	// ended is closed once nothing is left of the connection; why then is how its process ended,
	// "" where that is not known.
	ended chan struct{}
	why   string
}

// Send passes call on. It fails at once when the connection breaks.
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

// explainLimit is how long an error waits to learn how the process ended.
const explainLimit = 1500 * time.Millisecond

// explain adds to an error that says no more than that the server is gone how it ended.
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

// lost is closed when the connection has broken; nil, which never is, without one.
func (l *connection) lost() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.Conn.Done()
}

// usable reports whether the connection is there and has not broken. Callers ask,
// because a connection may break before its runner has seen it.
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

// begin starts the server in a helper goroutine; the result comes back by post.
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

// connect opens a connection within limit, which begins once it is this server's turn.
func (r *runner) connect(ctx context.Context, c *config.Server, era core.Era, limit time.Duration, started func(Process)) (Session, error) {
	request := Request{Server: c, Era: era, Workspace: r.whose.workspace, Changed: func(core.Kind) {}}
	if r.own == nil { // of either era: a list may change in the process that a call went to
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

// slowHint is what to do about a server that did not answer while it was started. One that
// reads only messages with a header gets none that it understands, and looks as if it hung.
func slowHint(c *config.Server) string {
	if c.Type != core.Stdio || c.Framing != "" && c.Framing != config.FramingAuto {
		return ""
	}
	return `If it only needs longer, raise startupTimeoutMs. If it reads messages with a Content-Length header, set "framing": "content-length".`
}

// slot waits for a turn to start. The turn is given back after slotTime even when
// the start goes on, so that one slow download does not hold up the others.
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

// begun takes the result of a start.
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
	case stopping: // it was told to stop; that it failed is no news
	default:
		r.unsigned = errors.Is(err, core.ErrNeedsLogin)
		r.fail(err)
		r.recordMissingDependency(err)
		r.step(r.failure(err))
	}
	r.settle()
}

// failureOf tells the machine what kind of failure err is.
func failureOf(err error) event {
	switch {
	case errors.Is(err, ErrAbsent):
		return evAbsent
	case core.CodeOf(err) == core.CodeValidation:
		return evRefused
	}
	return evFailed
}

// connected makes known what the server offers, and then that it runs.
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

// relisted takes over lists that the connection has read again.
func (r *runner) relisted(kind core.Kind) {
	if r.primary == nil {
		return // connected takes the newest catalog anyway
	}
	c, catalog := r.config(), r.primary.Catalog()
	r.primary.watchLists()
	r.s.o.Registry.Update(r.id, catalog, kind)
	r.publish()
	r.helpers.Go(func() { r.remember(c, catalog) })
}

// remember keeps the catalog for the next run.
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

// end ends what runs or is being started.
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

// closeConnection closes a connection in a helper goroutine. The server counts as running
// until that is done.
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
					r.state.failed = false // no failure of the server's own
				}
			}
			close(l.ended)
			r.settle()
		})
	})
}
