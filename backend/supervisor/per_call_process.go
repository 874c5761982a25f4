package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// A server with session: perCall has a process for each call, which starts and ends with the
// call, so that no call sees what another one left in memory. The server's own runner only
// reads the catalog.

type perCallUpstream struct {
	r       *runner
	account string
}

var errStopped = errors.New("the server was stopped")

// perCallUpstream returns the upstream of a single call, or an error that says why the server
// accepts no calls.
func (r *runner) perCallUpstream(account string) (Upstream, error) {
	c := r.config()
	switch {
	case r.retired.Load():
		return nil, core.Errorf(core.CodeNotFound, "there is no server named %q", r.id)
	case r.needsApproval.Load():
		return nil, r.unapprovedError()
	case r.s.paused.Load():
		return nil, r.s.errPaused()
	case c.Disabled:
		return nil, r.disabledError()
	case c.Start == config.StartManual && !r.live.Load().wanted && !r.listed():
		return nil, r.manualStartError()
	}
	if _, ok := c.WithAccount(account); !ok {
		return nil, unknownAccountError(c, account)
	}
	return perCallUpstream{r, account}, nil
}

// Send starts the server, sends call, and stops the server before it returns. At most
// maxInstances run at the same time; further calls wait.
func (e perCallUpstream) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	r, s, ended := e.r, e.r.s, make(chan struct{})
	select {
	case r.perCall.slots <- struct{}{}:
		defer func() { <-r.perCall.slots }()
	case <-ctx.Done():
		return core.Reply{}, context.Cause(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return core.Reply{}, core.Errorf(core.CodeUnavailable, "Drawbridge is stopping")
	}
	s.active.Go(func() { // so that Run ends only after this call's process has
		select {
		case <-s.drainExpired:
			cancel(errStopped)
		case <-ctx.Done():
		}
		<-ended
	})
	s.mu.Unlock()
	defer close(ended)
	defer r.perCall.add(cancel)()
	if s.paused.Load() { // a pause that begins later finds the call among those that it ends
		return core.Reply{}, s.errPaused()
	}

	c, ok := r.config().WithAccount(e.account)
	if !ok {
		return core.Reply{}, unknownAccountError(r.config(), e.account)
	}
	session, err := r.connectInSlot(ctx, upstream.Request{Server: c, Owner: "call", Changed: func(core.Kind) {}, SkipCatalog: true}, upstream.StartupTimeout(c))
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, errStopped) {
			err = cause
		} else if cause != nil {
			return core.Reply{}, cause
		}
		return core.Reply{}, e.unavailableError(err)
	}
	defer func() { r.logStop(session.Close(s.stopCtx)) }()
	if err := core.Readmit(ctx); err != nil {
		return core.Reply{}, err
	}
	reply, err := session.Send(ctx, call, sink)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		err = e.unavailableError(errStopped)
	}
	return reply, err
}

func (e perCallUpstream) unavailableError(err error) error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: errors.Is(err, upstream.ErrDependencyMissing), Cause: err,
		Message: fmt.Sprintf("server %q cannot run this call: %s", e.r.id, e.r.displayReason(err)),
		Hint:    "See its log: drawbridge logs " + e.r.id + "."}
}

// perCallProcesses tracks the calls in flight, each with its own process.
type perCallProcesses struct {
	slots chan struct{} // one element for each running process

	mu   sync.Mutex
	live map[*context.CancelCauseFunc]bool
	idle chan struct{} // closed while no process runs
}

func newPerCallProcesses() *perCallProcesses {
	idle := make(chan struct{})
	close(idle)
	return &perCallProcesses{slots: make(chan struct{}, maxInstances), live: map[*context.CancelCauseFunc]bool{}, idle: idle}
}

// awaitIdle waits until no call has a process, or until ctx is done.
func (e *perCallProcesses) awaitIdle(ctx context.Context) error {
	e.mu.Lock()
	idle := e.idle
	e.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *perCallProcesses) add(cancel context.CancelCauseFunc) (leave func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.live) == 0 {
		e.idle = make(chan struct{})
	}
	e.live[&cancel] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if delete(e.live, &cancel); len(e.live) == 0 {
			close(e.idle)
		}
	}
}

func (e *perCallProcesses) cancelAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for cancel := range e.live {
		(*cancel)(errStopped)
	}
}
