package supervisor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Upstream is a connection to a server. The gateway declares the same interface.
type Upstream = interface {
	Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
}

// For returns the upstream that serves call, in the era of the call if the server speaks it, and
// sets call.Instance. A request about a task is served only in its era, that of the task: the other
// connection does not know the task.
//
// For waits for a server that is starting, stopped or in backoff, at most its startupTimeoutMs.
// It starts a stopped server, unless only the user may start it (start: manual). A remote server
// that waits for the network is retried immediately. A crashed server is retried at most every 30
// s. In all other cases For returns an error immediately.
func (s *Supervisor) For(ctx context.Context, call *core.Call) (Upstream, error) {
	fl := s.fleet.Load()
	r := fl.byID[call.Server]
	if r == nil {
		return nil, fl.unknownError(call.Server)
	}
	if r.config().Session == config.SessionPerCall {
		return r.perCallUpstream(call.Account)
	}
	r, l, err := s.findRunner(ctx, r, call)
	if err != nil {
		return nil, err
	}
	switch {
	case call.Era != core.Modern || !l.modernPossible:
		return r.servePrimary(call)
	case l.modern.usable():
		return useConnection(call, l.modern)
	}
	return r.awaitModern(ctx, call, l)
}

func needsOwnEra(call *core.Call) bool { return strings.HasPrefix(call.Method, "tasks/") }

func useConnection(call *core.Call, l *connection) (Upstream, error) {
	call.Instance = l.Peer().ID
	return l, nil
}

// awaitConnection returns a snapshot with a usable connection. It starts the server if a call may
// start it.
func (r *runner) awaitConnection(ctx context.Context) (*snapshot, error) {
	limit := time.NewTimer(upstream.StartupTimeout(r.config()))
	defer limit.Stop()
	if err := r.ask(ctx, r.prepareForCall); err != nil {
		return nil, err
	}
	for {
		l := r.live.Load()
		switch {
		case l.primary.usable():
			return l, nil
		case !l.wanted, l.phase == phaseCrashed, l.phase == phaseWaiting && !l.retrySoon && !r.justSignedIn(l):
			return nil, r.unavailableError(l)
		}
		select {
		case <-l.changed:
		case <-r.done:
			return nil, r.unavailableError(r.live.Load())
		case <-limit.C:
			return nil, r.unavailableError(r.live.Load())
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// prepareForCall prepares the server for a call: it starts or retries the server if a call may do
// that. It runs in the runner's goroutine.
func (r *runner) prepareForCall() error {
	c := r.config()
	r.lastUsed.Store(time.Now().UnixNano())
	switch {
	case r.parent != nil && r.retired.Load():
		return errInstanceEnded
	case r.needsApproval.Load():
		return r.unapprovedError()
	case r.s.paused.Load():
		return r.s.errPaused()
	case c.Disabled:
		return r.disabledError()
	case !r.wanted && c.Start == config.StartManual && r.parent == nil && !r.idleStopped:
		return r.manualStartError()
	case r.state.phase == phaseWaiting && r.wanted:
		r.retryForCall()
		return nil
	case r.state.phase == phaseCrashed:
		if time.Since(r.lastCallRestart) < crashedRetryInterval {
			return nil
		}
		r.lastCallRestart = time.Now()
		r.step(evCall)
		return nil
	}
	if !r.wanted {
		r.wanted = true
		r.step(evWanted)
	}
	return nil
}

func (r *shared) disabledError() error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q is disabled", r.id),
		Hint: "Enable it: drawbridge enable " + r.id + "."}
}

func (r *shared) manualStartError() error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q is not running, and is set to start manually", r.id),
		Hint: "Ask the user to start it in the window or the tray menu, or with: drawbridge start " + r.id + "."}
}

// describe names the server, or the account of it that this instance serves.
func (r *shared) describe() string {
	if r.owner.account != "" {
		return fmt.Sprintf("account %q of server %q", r.owner.account, r.id)
	}
	return fmt.Sprintf("server %q", r.id)
}

// unavailableError returns the error of a call for which there is no connection. It does not
// contain what the server wrote to stderr, because clients see the message.
func (r *shared) unavailableError(l *snapshot) error {
	if l.status.State == core.StateNeedsSignIn {
		return r.loginRequiredError()
	}
	message := fmt.Sprintf("%s is not available (%s)", r.describe(), strings.ToLower(l.status.State.Word()))
	if l.status.Reason != "" {
		message += ": " + l.status.Reason
	}
	return &core.Error{Code: core.CodeUnavailable, Message: message, Retriable: true,
		Hint: cmp.Or(l.status.Hint, "See its log: drawbridge logs "+r.id+"."), Remedy: l.status.Remedy}
}

// awaitModern waits at most modernWaitLimit for the modern connection, and for a request about a
// task as long as for a start. If there is none by then, or opening one is paused after a failure,
// the legacy connection serves the call.
func (r *runner) awaitModern(ctx context.Context, call *core.Call, l *snapshot) (Upstream, error) {
	limit := modernWaitLimit
	if needsOwnEra(call) {
		limit = upstream.StartupTimeout(r.config())
	}
	var timeout <-chan time.Time
	for !l.modern.usable() && l.modernPossible && l.primary.usable() && !time.Now().Before(l.modernRetryAfter) {
		if l.modernOpening.IsZero() {
			if err := r.ask(ctx, func() error { r.openSecondEra(); return nil }); err != nil {
				return nil, err
			}
			if l = r.live.Load(); l.modernOpening.IsZero() {
				break // it is open already, or opening did not begin
			}
			continue
		}
		if timeout == nil {
			remaining := limit - time.Since(l.modernOpening)
			if remaining <= 0 {
				break
			}
			timer := time.NewTimer(remaining)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-l.changed:
		case <-timeout:
			return r.servePrimary(call)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		l = r.live.Load()
	}
	if l = r.live.Load(); l.modern.usable() {
		return useConnection(call, l.modern)
	}
	return r.servePrimary(call)
}

func (r *shared) servePrimary(call *core.Call) (Upstream, error) {
	l := r.live.Load()
	if !l.primary.usable() {
		return nil, r.unavailableError(l)
	}
	if needsOwnEra(call) && l.primary.Peer().Era != call.Era {
		return nil, &core.Error{Code: core.CodeUnavailable, Retriable: true, Hint: "Try again in a minute.",
			Message: fmt.Sprintf("%s has no connection that uses the %s protocol, which the task requires", r.describe(), call.Era)}
	}
	return useConnection(call, l.primary)
}

// WaitListed waits until no server is starting whose tools are still unknown, at most
// bridge.listWaitMs, or until ctx is done. If server is not empty, it considers only that server.
// Servers that are listed later are announced by list_changed.
func (s *Supervisor) WaitListed(ctx context.Context, server string) {
	var limit <-chan time.Time
	for {
		changed := s.unlistedChange(server)
		if changed == nil {
			return
		}
		if limit == nil {
			timer := time.NewTimer(time.Duration(s.listWait.Load()))
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case <-changed:
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unlistedChange returns a channel that is closed when a server whose list is missing has
// changed, or nil if there is no such server. Before the first configuration is applied, the
// servers are unknown, so unlistedChange returns s.applied.
func (s *Supervisor) unlistedChange(server string) <-chan struct{} {
	select {
	case <-s.applied:
	default:
		return s.applied
	}
	fl := s.fleet.Load()
	for _, r := range fl.order {
		if server != "" && r.id != server {
			continue
		}
		if l := r.live.Load(); l.status.State == core.StateStarting && !r.listed() {
			return l.changed
		}
	}
	return nil
}

// findRunner returns a runner that serves call, and a snapshot of it with a usable connection.
func (s *Supervisor) findRunner(ctx context.Context, own *runner, call *core.Call) (*runner, *snapshot, error) {
	for {
		r := own
		if c := own.config(); !isShared(c) || call.Account != "" {
			var err error
			if r, err = s.instanceFor(own, call); err != nil {
				return nil, nil, err
			}
		}
		l := r.live.Load()
		if l.primary.usable() {
			return r, l, nil
		}
		l, err := r.awaitConnection(ctx)
		if !errors.Is(err, errInstanceEnded) {
			return r, l, err
		}
	}
}

const refreshTimeout = 30 * time.Second

// kindsWithoutListChanged returns the kinds that a server offers without the listChanged
// capability.
func kindsWithoutListChanged(capabilities json.RawMessage) []core.Kind {
	var said map[string]json.RawMessage
	if json.Unmarshal(capabilities, &said) != nil {
		return nil
	}
	var kinds []core.Kind
	for _, of := range []struct {
		key   string
		kinds []core.Kind
	}{{"tools", []core.Kind{core.Tools}}, {"prompts", []core.Kind{core.Prompts}}, {"resources", []core.Kind{core.Resources, core.Templates}}} {
		var detail *struct{ ListChanged bool }
		if _, ok := said[of.key]; !ok || json.Unmarshal(said[of.key], &detail) != nil || detail == nil {
			continue
		}
		if !detail.ListChanged {
			kinds = append(kinds, of.kinds...)
		}
	}
	return kinds
}

// resetRefreshTimer resets the timer of the next refresh. Servers that announce changes of all
// their lists are not refreshed.
func (r *runner) resetRefreshTimer() {
	every := r.config().CatalogRefresh
	if every <= 0 || r.parent != nil || r.primary == nil || len(kindsWithoutListChanged(r.primary.Catalog().Capabilities)) == 0 {
		r.refreshTimer.Stop()
		return
	}
	r.refreshTimer.Reset(r.jitter(every))
}

// refreshCatalog reads the lists again. Registry.Update reports a change only if the result
// differs.
func (r *runner) refreshCatalog() {
	l := r.primary
	if l == nil || r.state.phase != phaseRunning {
		return
	}
	r.helpers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		err := l.Refresh(ctx, kindsWithoutListChanged(l.Catalog().Capabilities)...)
		r.post(func() {
			if l != r.primary {
				return
			}
			if err != nil {
				r.s.o.Log.Debug("Cannot refresh the lists", "server", r.id, "error", err)
			} else {
				l.markHeard()
				r.updateCatalog(r.fullCatalog())
				r.publish()
			}
			r.resetRefreshTimer()
		})
	})
}

// listsChanged updates the registry with lists that the connection has read again.
func (r *runner) listsChanged(kind core.Kind) {
	if r.primary == nil {
		return // connected uses the newest catalog anyway
	}
	r.primary.markHeard()
	r.updateCatalog(r.fullCatalog(), kind)
	r.publish()
}
