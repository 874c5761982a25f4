package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/dial"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// connection is one open connection, through which calls are sent.
type connection struct {
	dial.Session
	owner     *runner
	inFlight  atomic.Int64
	closing   atomic.Bool  // being closed because it is idle
	lastHeard atomic.Int64 // when the server last sent anything, Unix nanoseconds
	// ended is closed when the connection is closed and its process has exited. Then exitReason
	// is how the process exited, or "" if unknown.
	ended      chan struct{}
	exitReason string
}

// Send sends call. It fails immediately if the connection breaks.
func (l *connection) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	l.inFlight.Add(1)
	if l.closing.Load() {
		l.inFlight.Add(-1)
		return l.owner.resend(ctx, call, sink)
	}
	defer l.inFlight.Add(-1)
	reply, err := l.Conn.Send(ctx, call, sink)
	now := time.Now().UnixNano()
	l.owner.lastUsed.Store(now)
	if err == nil {
		l.lastHeard.Store(now)
	}
	return reply, l.explain(ctx, err)
}

// explainLimit is how long a failed call waits for the exit status of the process.
const explainLimit = 1500 * time.Millisecond

// explain adds how the process exited to an error that says only that the server is gone.
func (l *connection) explain(ctx context.Context, err error) error {
	brokenErr, ok := errors.AsType[*core.Error](err)
	if !ok || brokenErr.Hint != wire.SeeLog || l.Process.Exit == nil {
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
	if l.exitReason == "" {
		return err
	}
	detailed := *brokenErr
	detailed.Message += ": " + l.exitReason
	detailed.Hint = "See its log: drawbridge logs " + l.owner.id + "."
	return &detailed
}

func newConnection(session dial.Session, of *runner) *connection {
	return &connection{Session: session, owner: of, ended: make(chan struct{})}
}

func (l *connection) markHeard() { l.lastHeard.Store(time.Now().UnixNano()) }

func (l *connection) silence() time.Duration { return time.Since(time.Unix(0, l.lastHeard.Load())) }

// broken returns a channel that is closed when the connection breaks. It returns nil if l is nil.
func (l *connection) broken() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.Conn.Done()
}

// usable reports whether the connection is open. Callers check this because a connection may
// break before its runner has handled that.
func (l *connection) usable() bool {
	if l == nil || l.closing.Load() {
		return false
	}
	select {
	case <-l.Conn.Done():
		return false
	default:
		return true
	}
}

// beginStart starts the server in a helper goroutine, which posts the result.
func (r *runner) beginStart() {
	c := r.config()
	ctx, giveUp := context.WithCancelCause(context.Background())
	cancel := func() { giveUp(nil) }
	r.abortStart, r.abortStartWith, r.npmFailedChecks, r.startedAt = cancel, giveUp, 0, time.Now()
	r.pending++
	r.starts++
	r.process, r.detail = dial.Process{}, ""
	r.progressTicker.Reset(progressInterval)
	n := r.starts
	started := func(p dial.Process) {
		r.post(func() {
			if r.state.phase == phaseStarting && r.starts == n {
				r.process = p
				r.publish()
			}
		})
	}
	r.helpers.Go(func() {
		session, err := r.connect(ctx, c, "", dial.StartupTimeout(c), started)
		cancel()
		if err == nil && r.parent == nil {
			r.saveCatalog(c, session.Catalog())
		}
		r.post(func() { r.startFinished(session, err) })
	})
}

// connect opens a connection. limit is the startup timeout, counted from the moment at which the
// start gets its slot.
func (r *runner) connect(ctx context.Context, c *config.Server, era core.Era, limit time.Duration, started func(dial.Process)) (dial.Session, error) {
	request := dial.Request{Server: c, Era: era, Owner: r.owner.key, Workspace: r.owner.workspace, Changed: func(core.Kind) {}}
	if r.parent == nil { // in both eras: a list may change in the process that served a call
		request.Changed = func(kind core.Kind) { r.post(func() { r.listsChanged(kind) }) }
	}
	request.Started = started
	return r.connectInSlot(ctx, request, limit)
}

func (r *runner) connectInSlot(ctx context.Context, request dial.Request, limit time.Duration) (dial.Session, error) {
	release, err := r.s.acquireSlot(ctx)
	if err != nil {
		return dial.Session{}, err
	}
	defer release()
	ctx, cancel := dial.StartupContext(ctx, limit, func() bool { return r.s.o.Fetching(r.id) != "" })
	defer cancel()
	session, err := r.s.o.Connect(ctx, request)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = &core.Error{Code: core.CodeTimeout, Retriable: true, Cause: err,
			Message: fmt.Sprintf("did not respond within %s (startupTimeoutMs)", limit), Hint: startupTimeoutHint(request.Server), Remedy: core.EditConfig("startupTimeoutMs")}
	}
	return session, err
}

// startupTimeoutHint returns the hint for a stdio server that did not answer during its start. A
// server that reads only messages with a Content-Length header understands none of ours and seems
// to hang.
func startupTimeoutHint(c *config.Server) string {
	if c.Type != core.Stdio || c.Framing != "" && c.Framing != config.FramingAuto {
		return ""
	}
	return `If it just needs more time, increase startupTimeoutMs. If it reads messages with a Content-Length header, set "framing": "content-length".`
}

// acquireSlot waits for one of the slots that limit parallel starts. The slot is released after
// slotTime even if the start is still in progress, so that a slow download does not delay other
// servers.
func (s *Supervisor) acquireSlot(ctx context.Context) (release func(), err error) {
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

// startFinished handles the result of a start.
func (r *runner) startFinished(session dial.Session, err error) {
	r.pending--
	r.process = session.Process
	stopping := r.state.phase != phaseStarting
	switch {
	case err == nil && stopping:
		r.closeConnection(newConnection(session, r))
	case err == nil:
		r.primary, r.startDuration = newConnection(session, r), time.Since(r.startedAt)
		r.primary.markHeard()
		r.startSucceeded()
	case stopping: // the start was aborted, so its error is expected
	default:
		r.needsLogin = errors.Is(err, core.ErrNeedsLogin)
		r.recordFailure(err)
		r.recordMissingDependency(err)
		r.step(r.startFailureEvent(err))
	}
	r.finishStop()
}

// failureEvent returns the event of the state machine for err.
func failureEvent(err error) event {
	switch {
	case errors.Is(err, dial.ErrAbsent):
		return evDependencyMissing
	case core.CodeOf(err) == core.CodeValidation:
		return evRefused
	}
	return evFailed
}

// startSucceeded updates the registry with the catalog, and then enters the running phase.
func (r *runner) startSucceeded() {
	l := r.primary
	catalog := r.fullCatalog()
	if r.parent == nil {
		r.s.o.Registry.Update(r.id, catalog)
		if c := r.config(); len(catalog.ModernCapabilities) > 0 {
			r.helpers.Go(func() { r.saveCatalog(c, catalog) })
		}
	}
	r.lastUsed.Store(max(r.lastUsed.Load(), r.startedAt.UnixNano()))
	r.step(evConnected)
	r.resetTimers()
	r.s.o.Log.Info("MCP server connected", "server", r.id, "tools", len(catalog.Tools), "era", l.Era(), "version", l.Version())
	r.s.o.Journal(r.id, slog.LevelInfo, fmt.Sprintf("connected, %d tools", len(catalog.Tools)))
	for _, w := range catalog.Warnings {
		r.s.o.Journal(r.id, slog.LevelWarn, w)
	}
}

// listsChanged updates the registry with lists that the connection has read again.
func (r *runner) listsChanged(kind core.Kind) {
	if r.primary == nil {
		return // connected uses the newest catalog anyway
	}
	c, catalog := r.config(), r.fullCatalog()
	r.primary.markHeard()
	r.s.o.Registry.Update(r.id, catalog, kind)
	r.publish()
	r.helpers.Go(func() { r.saveCatalog(c, catalog) })
}

// fullCatalog returns the catalog of the first connection, with what the second one has declared, or did when
// the same version of the server last had one.
func (r *runner) fullCatalog() *core.Catalog {
	c := *r.primary.Catalog()
	if r.primary.Era() != core.Legacy {
		return &c
	}
	c.ModernCapabilities = r.secondEra.capabilities
	if v, ok := r.s.o.Registry.Server(r.id); ok && c.ModernCapabilities == nil && r.parent == nil {
		if was := v.Offers()[0].Catalog; was != nil && bytes.Equal(was.Info, c.Info) {
			c.ModernCapabilities = was.ModernCapabilities
		}
	}
	return &c
}

// saveCatalog saves the catalog for the next run.
func (r *runner) saveCatalog(c *config.Server, catalog *core.Catalog) {
	if r.s.o.Catalogs == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := r.s.o.Catalogs.SaveCatalog(ctx, r.id, dial.LaunchKey(c), catalog); err != nil {
		r.s.o.Log.Warn("Cannot save catalog", "server", r.id, "error", err)
	}
}

// closeConnections aborts a start and closes the connections.
func (r *runner) closeConnections() {
	if r.abortStart != nil {
		r.abortStart()
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
		err := l.Close(r.s.stopCtx)
		r.post(func() {
			r.pending--
			if err != nil {
				r.s.o.Log.Error("Cannot stop MCP server", "server", r.id, "error", err)
				r.s.o.Journal(r.id, slog.LevelError, err.Error())
			}
			if r.state.failed {
				r.recordExit()
				if r.exitCode != nil {
					l.exitReason = r.reason
				}
				if exit, ok := r.exitStatus(); ok && exit.Lost {
					r.state.failed = false // the container went away: not a failure of the server
				}
			}
			close(l.ended)
			r.finishStop()
		})
	})
}
