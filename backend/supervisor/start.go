package supervisor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// beginStart starts the server in a helper goroutine, which posts the result.
func (r *runner) beginStart() {
	c := r.config()
	ctx, giveUp := context.WithCancelCause(context.Background())
	cancel := func() { giveUp(nil) }
	r.abortStart, r.abortStartWith, r.npmFailedChecks, r.startedAt = cancel, giveUp, 0, time.Now()
	r.pendingOperations++
	r.starts++
	r.process, r.detail = upstream.Process{}, ""
	r.progressTicker.Reset(progressInterval)
	n := r.starts
	started := func(p upstream.Process) {
		r.post(func() {
			if r.state.phase == phaseStarting && r.starts == n {
				r.process = p
				r.publish()
			}
		})
	}
	r.helpers.Go(func() {
		session, err := r.connect(ctx, c, "", upstream.StartupTimeout(c), started)
		cancel()
		r.post(func() { r.startFinished(session, err) })
	})
}

// connect opens a connection. limit is the startup timeout, counted from the moment at which the
// start gets its slot.
func (r *runner) connect(ctx context.Context, c *config.Server, era core.Era, limit time.Duration, started func(upstream.Process)) (upstream.Session, error) {
	request := upstream.Request{Server: c, Era: era, Owner: r.owner.key, Workspace: r.owner.workspace, Changed: func(core.Kind) {}}
	if r.parent == nil { // in both eras: a list may change in the process that served a call
		request.Changed = func(kind core.Kind) { r.post(func() { r.listsChanged(kind) }) }
	}
	request.Started = started
	return r.connectInSlot(ctx, request, limit)
}

func (r *runner) connectInSlot(ctx context.Context, request upstream.Request, limit time.Duration) (upstream.Session, error) {
	release, err := r.s.slots.acquire(ctx, r.s.o.ExpectedStart(r.id))
	if err != nil {
		return upstream.Session{}, err
	}
	defer release()
	ctx, cancel := upstream.StartupContext(ctx, limit, func() bool { return r.s.o.DownloadingLauncher(r.id) != "" })
	defer cancel()
	session, err := r.s.o.Connect(ctx, request)
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = startupTimeoutError(request.Server, limit, err, r.s.o.LastLines(r.id, upstream.MaxLines, r.startedAt))
	}
	return session, err
}

// startupTimeoutError returns the error of a start that reached its time limit.
func startupTimeoutError(c *config.Server, limit time.Duration, cause error, lines []string) *core.Error {
	e := &core.Error{Code: core.CodeTimeout, Retriable: true, Cause: cause,
		Message: fmt.Sprintf("did not respond within %s (startupTimeoutMs)", limit), Hint: startupTimeoutHint(c), Remedy: core.EditConfig("startupTimeoutMs")}
	if hint, remedy := upstream.HTTPModeAdvice(lines); hint != "" && c.Type == core.Stdio {
		e.Hint, e.Remedy = hint, remedy
	}
	if unusable, ok := errors.AsType[*wire.UnusableOutputError](cause); ok {
		e.Message += ": " + unusable.Problem
		e.Hint, e.Remedy, e.Cause = unusable.Hint, core.Remedy{Kind: core.RemedySeeLog}, unusable
	}
	return e
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

// startSlots limit parallel starts. Of those that wait, the start that took longest before comes first, so
// that it does not run alone at the end.
type startSlots struct {
	mu      sync.Mutex
	free    int
	waiting []*waitingStart
}

type waitingStart struct {
	expected time.Duration
	turn     chan struct{} // closed when it has a slot
}

// acquire waits for a slot. It is released after startSlotTime even if the start is still in progress, so
// that a slow download does not delay other servers.
func (s *startSlots) acquire(ctx context.Context, expected time.Duration) (release func(), err error) {
	w := &waitingStart{expected, make(chan struct{})}
	s.mu.Lock()
	s.waiting = append(s.waiting, w)
	s.assign()
	s.mu.Unlock()
	select {
	case <-w.turn:
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if at := slices.Index(s.waiting, w); at >= 0 {
			s.waiting = slices.Delete(s.waiting, at, at+1)
		} else {
			s.free++
			s.assign()
		}
		return nil, ctx.Err()
	}
	give := sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free++
		s.assign()
	})
	early := time.AfterFunc(startSlotTime, give)
	return func() {
		early.Stop()
		give()
	}, nil
}

// assign gives free slots to waiting starts. The caller holds mu.
func (s *startSlots) assign() {
	slices.SortStableFunc(s.waiting, func(a, b *waitingStart) int { return cmp.Compare(b.expected, a.expected) })
	for s.free > 0 && len(s.waiting) > 0 {
		close(s.waiting[0].turn)
		s.waiting = s.waiting[1:]
		s.free--
	}
}

func (r *runner) startFinished(session upstream.Session, err error) {
	r.pendingOperations--
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
	case errors.Is(err, upstream.ErrDependencyMissing):
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
		r.updateCatalog(catalog)
	}
	r.lastUsed.Store(max(r.lastUsed.Load(), r.startedAt.UnixNano()))
	r.s.o.Connected(r.id, r.owner.account)
	r.step(evConnected)
	r.resetTimers()
	r.s.o.Log.Info("MCP server connected", "server", r.id, "tools", len(catalog.Tools), "era", l.Peer().Era, "version", l.Peer().Version)
	r.s.o.Journal(r.id, slog.LevelInfo, "connected, "+core.Plural(len(catalog.Tools), "tool"))
	for _, w := range slices.Concat(catalog.Warnings, r.conflicts()) {
		r.s.o.Journal(r.id, slog.LevelWarn, w)
	}
}

// fullCatalog returns the catalog of the first connection, with what the second one has declared, or did when
// the same version of the server last had one.
func (r *runner) fullCatalog() *core.Catalog {
	c := *r.primary.Catalog()
	if r.primary.Peer().Era != core.Legacy {
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

// unsaved is a catalog that is to be saved under the key of a launch.
type unsaved struct {
	key     string
	catalog *core.Catalog
}

// updateCatalog updates the registry at once, and saves the catalog for the next run. Nothing waits for the
// store: of the catalogs that come while it does not answer, the newest is saved once it does.
func (r *runner) updateCatalog(catalog *core.Catalog, kinds ...core.Kind) {
	r.s.o.Registry.Update(r.id, catalog, kinds...)
	if r.s.o.Catalogs == nil || r.unsaved.Swap(&unsaved{r.config().LaunchKey(), catalog}) != nil {
		return
	}
	r.helpers.Go(func() {
		pause := 2 * storeTimeout
		for {
			next := r.unsaved.Load()
			ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
			err := r.s.o.Catalogs.SaveCatalog(ctx, r.id, next.key, next.catalog)
			cancel()
			if err == nil {
				if r.unsaved.CompareAndSwap(next, nil) {
					return
				}
				continue
			}
			r.s.o.Log.Warn("Cannot save catalog", "server", r.id, "error", err)
			select {
			case <-time.After(pause):
				pause = min(2*pause, maxStorePause)
			case <-r.done:
				return
			}
		}
	})
}

// Connect starts or reaches a server, performs the handshake and reads its lists. ctx bounds all
// of that. If Connect fails, everything that it started has been stopped; Session.Process
// describes what was tried. A *core.Error with core.CodeValidation means that a retry cannot
// succeed, an error that wraps ErrAbsent that an external dependency is missing.
type Connect func(ctx context.Context, r upstream.Request) (upstream.Session, error)

// reportStartProgress publishes the status when the progress of a start has changed.
func (r *runner) reportStartProgress() {
	if r.state.phase != phaseStarting {
		r.progressTicker.Stop()
		return
	}
	if now := r.startProgress(); now != r.detail {
		r.detail = now
		r.publish()
	}
	r.endWhenNpmFailed()
}

// startProgress describes what a start is doing, as far as that is visible: "downloading (npx): "
// and the last line of stderr.
func (r *runner) startProgress() string {
	text := ""
	if by := r.s.o.DownloadingLauncher(r.id); by != "" && !r.s.o.Cached(r.config()) {
		text = "downloading (" + by + ")"
	}
	lines := r.s.o.LastLines(r.id, 1, r.startedAt)
	if len(lines) == 0 {
		return text
	}
	if text != "" {
		text += ": "
	}
	return text + lines[0]
}
