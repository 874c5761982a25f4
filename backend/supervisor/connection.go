package supervisor

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
func (r *shared) logStop(err error) {
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

// secondEraConn is a second connection, in the modern era, to a server that speaks both eras
// and whose first connection is legacy. The first modern call opens it. Whether a server
// speaks both is found out by one attempt and stored in Eras for later runs.
type secondEraConn struct {
	conn       *connection
	opening    bool
	since      time.Time          // when opening began
	abort      context.CancelFunc // set while the connection is being opened
	known      bool               // whether dual is known
	dual       bool
	retryAfter time.Time       // no new attempt before this time
	lost       time.Time       // when conn was lost
	closing    <-chan struct{} // closed when the previous conn is closed; nil without one

	capabilities json.RawMessage // as the server declared them in the modern era; kept when conn is closed
}

func (b *secondEraConn) broken() <-chan struct{} { return b.conn.broken() }

// mayOpen reports whether a modern connection exists or may still be opened.
func (b *secondEraConn) mayOpen() bool { return !b.known || b.dual }

// openSecondEra opens the second connection, unless that is in progress or not possible.
func (r *runner) openSecondEra() {
	b := &r.secondEra
	if b.conn != nil && !b.conn.usable() {
		r.closeSecondEra("connection lost")
	}
	if r.state.phase != phaseRunning || r.primary.Peer().Era != core.Legacy || b.conn != nil || b.opening || !b.mayOpen() || time.Now().Before(b.retryAfter) {
		return
	}
	c, key := r.config(), eraKey(r.config().LaunchKey(), r.primary.Catalog().Info)
	ctx, cancel := context.WithCancel(context.Background())
	b.opening, b.since, b.abort = true, time.Now(), cancel
	known, limit, closing := b.known, upstream.StartupTimeout(c), b.closing
	quick := r.startDuration < probeTimeout/3 // then no answer means that the server does not speak the era
	r.pendingOperations++
	r.publish()
	r.helpers.Go(func() {
		defer cancel()
		if closing != nil { // a server has at most one process for each era
			select {
			case <-closing:
			case <-ctx.Done():
			}
		}
		dual, found := true, known
		if !known {
			dual, found = r.loadEra(key)
			if !found {
				limit = min(limit, probeTimeout)
			}
		}
		var session upstream.Session
		var err error
		if dual || !found {
			if session, err = r.connect(ctx, c, core.Modern, limit, nil); err == nil && !found {
				r.saveEra(key, true)
			}
			// An interrupted probe has no result to store.
			if err != nil && !found && ctx.Err() == nil && (quick || !errors.Is(err, context.DeadlineExceeded)) {
				r.saveEra(key, false)
			}
		} else {
			err = errors.New("supports only the legacy protocol")
		}
		r.post(func() { r.secondEraOpened(session, err, found && dual) })
	})
}

// secondEraOpened handles the result of opening. known says that the server is known to speak
// both eras: then an error is temporary.
func (r *runner) secondEraOpened(session upstream.Session, err error, known bool) {
	b := &r.secondEra
	r.pendingOperations--
	b.opening, b.abort = false, nil
	switch {
	case err == nil && (r.state.phase != phaseRunning || r.primary == nil):
		r.closeConnection(newConnection(session, r))
	case err == nil:
		b.known, b.dual = true, true
		b.conn = newConnection(session, r)
		b.conn.markHeard()
		r.modernCapabilities(session.Catalog().Capabilities)
		r.s.o.Log.Info("MCP server also connected with the modern protocol", "server", r.id)
	case errors.Is(err, context.Canceled):
	default:
		b.known, b.dual = true, known
		b.retryAfter = time.Now().Add(crashedRetryInterval)
		r.s.o.Log.Debug("Cannot open a second connection with the modern protocol", "server", r.id, "error", err)
	}
	r.publish()
	r.finishStop()
}

// modernCapabilities updates the registry if the server declares something else in the modern era.
func (r *runner) modernCapabilities(declared json.RawMessage) {
	if r.parent != nil || bytes.Equal(declared, r.fullCatalog().CapabilitiesIn(core.Modern)) {
		return
	}
	r.secondEra.capabilities = declared
	r.updateCatalog(r.fullCatalog())
}

// closeSecondEra closes the second connection; the next modern call opens a new one. If the
// connection is lost twice within crashedRetryInterval, no call opens one for that time.
func (r *runner) closeSecondEra(reason string) {
	b, now := &r.secondEra, time.Now()
	l := b.conn
	if !b.lost.IsZero() && now.Sub(b.lost) < crashedRetryInterval {
		b.retryAfter = now.Add(crashedRetryInterval)
	}
	b.conn, b.lost, b.closing = nil, now, l.ended
	r.s.o.Log.Info("Modern connection to MCP server ended", "server", r.id, "reason", reason)
	r.closeConnection(l)
	r.publish()
}

// endSecondEra closes the second connection when the server stops. What is known about its
// eras is forgotten, because the next start may run another version.
func (r *runner) endSecondEra() {
	b := r.secondEra
	r.secondEra = secondEraConn{opening: b.opening, abort: b.abort, since: b.since}
	if b.abort != nil {
		b.abort()
	}
	if b.conn != nil {
		r.closeConnection(b.conn)
	}
}

func (r *shared) loadEra(key string) (dual, known bool) {
	if r.s.o.Eras == nil {
		return false, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	dual, known, err := r.s.o.Eras.DualEra(ctx, r.id, key)
	if err != nil {
		r.s.o.Log.Warn("Cannot read known eras", "server", r.id, "error", err)
		return false, false
	}
	return dual, known
}

func (r *shared) saveEra(key string, dual bool) {
	if r.s.o.Eras == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	if err := r.s.o.Eras.SaveDualEra(ctx, r.id, key, dual); err != nil {
		r.s.o.Log.Warn("Cannot save known eras", "server", r.id, "error", err)
	}
}

// eraKey is the key in Eras. It changes with the configuration and with the version that the
// server reports, so that an updated server is probed again.
func eraKey(launch string, info []byte) string {
	sum := sha256.Sum256(append([]byte(launch), info...))
	return hex.EncodeToString(sum[:16])
}

// HasBothEras reports whether a server has a modern connection open beside its legacy one.
func (s *Supervisor) HasBothEras(id string) bool {
	r := s.fleet.Load().byID[id]
	return r != nil && r.live.Load().modern.usable()
}
