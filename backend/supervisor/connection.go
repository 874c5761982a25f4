package supervisor

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// connection is one open connection, through which calls are sent.
type connection struct {
	upstream.Session
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
	reply, err := l.Connection.Send(ctx, call, sink)
	now := time.Now().UnixNano()
	l.owner.lastUsed.Store(now)
	if err == nil {
		l.lastHeard.Store(now)
	}
	return reply, l.explain(ctx, err)
}

// exitStatusTimeout is how long a failed call waits for the exit status of the process.
const exitStatusTimeout = 1500 * time.Millisecond

// explain adds how the process exited to an error that says only that the server is gone.
func (l *connection) explain(ctx context.Context, err error) error {
	brokenErr, ok := errors.AsType[*core.Error](err)
	if !ok || brokenErr.Hint != wire.SeeLog || l.Process.Exit == nil {
		return err
	}
	limit := time.NewTimer(exitStatusTimeout)
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

func newConnection(session upstream.Session, of *runner) *connection {
	return &connection{Session: session, owner: of, ended: make(chan struct{})}
}

func (l *connection) markHeard() { l.lastHeard.Store(time.Now().UnixNano()) }

func (l *connection) silence() time.Duration { return time.Since(time.Unix(0, l.lastHeard.Load())) }

// broken returns a channel that is closed when the connection breaks. It returns nil if l is nil.
func (l *connection) broken() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.Connection.Done()
}

// usable reports whether the connection is open. Callers check this because a connection may
// break before its runner has handled that.
func (l *connection) usable() bool {
	if l == nil || l.closing.Load() {
		return false
	}
	select {
	case <-l.Connection.Done():
		return false
	default:
		return true
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

// logStop logs a failure to stop the server. At shutdown, a server that takes too long is killed,
// which is no failure.
func (r *runner) logStop(err error) {
	switch {
	case err == nil:
	case errors.Is(err, context.Canceled) && r.s.stopCtx.Err() != nil:
		r.s.o.Log.Warn("MCP server did not stop in time and was killed", "server", r.id)
		r.s.o.Journal(r.id, slog.LevelWarn, "it did not stop in time and was killed")
	default:
		r.s.o.Log.Error("Cannot stop MCP server", "server", r.id, "error", err)
		r.s.o.Journal(r.id, slog.LevelError, err.Error())
	}
}

// closeConnection closes a connection in a helper goroutine. The stop of the server is complete
// only when that is done.
func (r *runner) closeConnection(l *connection) {
	r.pendingOperations++
	r.helpers.Go(func() {
		err := l.Close(r.s.stopCtx)
		r.post(func() {
			r.pendingOperations--
			r.logStop(err)
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
