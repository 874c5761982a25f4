package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
)

// inFlightCall is one call on its way to a server: its clock, and the sink that the
// server's side messages pass through.
type inFlightCall struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	own    bool // ctx is nobody else's
	g      *Gateway
	call   *core.Call
	sink   core.Sink
	plan   policy.Plan

	older, newer *inFlightCall // in clocks

	mu                sync.Mutex // guards what follows, and call.Progress
	due               time.Time  // when the call is late
	ceiling           time.Time  // no progress moves due beyond this
	asking            int        // requests of the server that wait for the client
	stopped           time.Time  // when asking became one
	finished          bool
	progress          int
	reached           float64   // the newest progress of the server
	lastProgressEvent time.Time // when onlookers last heard of progress
}

func (g *Gateway) start(ctx context.Context, call *core.Call, sink core.Sink, plan policy.Plan) *inFlightCall {
	f := &inFlightCall{g: g, call: call, sink: sink, plan: plan}
	if life, ok := ctx.(*core.Life); ok { // what has run out of time is never tried again
		f.ctx, f.cancel = life, life.End
	} else {
		f.ctx, f.cancel = context.WithCancelCause(ctx)
		f.own = true
	}
	now := time.Now()
	f.due, f.ceiling = now.Add(plan.Timeout), now.Add(plan.Ceiling)
	g.timeouts.add(f, f.due)
	return f
}

// finish ends the flight.
func (f *inFlightCall) finish() {
	f.mu.Lock()
	f.finished = true
	f.call.Progress += f.progress
	f.mu.Unlock()
	f.g.timeouts.remove(f)
	if f.own {
		f.cancel(nil)
	}
}

// deadline is when the call will be late, unless a client is being asked.
func (f *inFlightCall) deadline() (due time.Time, runs bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.due, f.asking == 0
}

func (f *inFlightCall) expire() {
	f.mu.Lock()
	// Progress may have moved it just now, or the clock was stopped.
	late := f.asking == 0 && !f.finished && !time.Now().Before(f.due)
	f.mu.Unlock()
	if late {
		f.cancel(errExpired)
	}
}

// extend gives the server its whole time again, up to the ceiling, and reports whether
// that ends earlier than before. It must be called with f.mu held.
func (f *inFlightCall) extend() (earlier bool) {
	was := f.due
	f.due = time.Now().Add(f.plan.Timeout)
	if f.due.After(f.ceiling) {
		f.due = f.ceiling
	}
	return f.due.Before(was)
}

// Notify passes a notification on; progress resets the timeout.
func (f *inFlightCall) Notify(method string, params json.RawMessage) {
	if method == "notifications/progress" {
		f.mu.Lock()
		f.progress++
		f.reached = progressOf(params)
		earlier, due := f.extend(), f.due
		f.reportProgress()
		f.mu.Unlock()
		if earlier {
			f.g.timeouts.reschedule(due)
		}
	}
	if f.sink != nil {
		f.sink.Notify(method, params)
	}
}

// tellEvery is how often onlookers hear of the progress of one call.
const tellEvery = 250 * time.Millisecond

// reportProgress lets onlookers see how far the call is. It must be called with f.mu held: once the call has landed
// its end was told, and nothing may come after that.
func (f *inFlightCall) reportProgress() {
	if now := time.Now(); !f.finished && now.Sub(f.lastProgressEvent) >= tellEvery {
		f.lastProgressEvent = now
		c := startSnapshot(f.call)
		c.Progress = f.call.Progress + f.progress
		f.g.bus.PublishCall(&c)
	}
}

// Ask sends a request of the server to the client and records it as a call of its
// own. The call that caused it does not run out of time meanwhile.
func (f *inFlightCall) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	f.stopClock()
	defer f.startClock()
	f.mu.Lock()
	reached := f.reached
	f.mu.Unlock()
	defer policy.SendKeepAlives(f.sink, f.call, reached, "waiting for an answer")()
	return f.g.Ask(ctx, f.call, method, params, f.sink)
}

// grace is left to whoever asks, to end the question in its own words: the user who
// does not answer in time has declined, and a client has not answered.
const grace = 5 * time.Second

// Ask puts a question of a server to sink and records it as a call of its own. cause is
// the call that made the server ask; of one that no single call made it ask, only the
// server is set. It is for questions that do not come while cause runs, such as those
// of a modern server, which asks by its result.
func (g *Gateway) Ask(ctx context.Context, cause *core.Call, method string, params json.RawMessage, sink core.Sink) (reply core.Reply, err error) {
	call := &core.Call{
		Client: cause.Client, Session: cause.Session, Shim: cause.Shim, Era: cause.Era,
		FromServer: true, Server: cause.Server, Instance: cause.Instance,
		Method: method, Params: params, TraceID: cause.TraceID, SpanID: cause.SpanID, Protocol: cause.Protocol,
	}
	g.beginCall(call)
	defer func() { g.endCall(call, reply, err, sending) }()
	if sink == nil {
		return core.Reply{Error: json.RawMessage(`{"code":-32601,"message":"the caller cannot answer requests"}`)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, policy.AnswerTimeout+grace)
	defer cancel()
	call.Attempts = 1
	return sink.Ask(ctx, method, params)
}

// stopClock and startClock take the time that a client needs for its answer out of
// the timeout and out of the ceiling.
func (f *inFlightCall) stopClock() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asking++; f.asking == 1 {
		f.stopped = time.Now()
	}
}

func (f *inFlightCall) startClock() {
	f.mu.Lock()
	if f.asking--; f.asking > 0 || f.finished {
		f.mu.Unlock()
		return
	}
	waited := time.Since(f.stopped)
	f.ceiling, f.due = f.ceiling.Add(waited), f.due.Add(waited)
	due := f.due
	f.mu.Unlock()
	f.g.timeouts.reschedule(due)
}

// explain names the failure of Send after who ended the call.
func (f *inFlightCall) explain(err error) error {
	if !errors.Is(context.Cause(f.ctx), errExpired) {
		return err
	}
	key, limit := f.plan.TimeoutKey, f.plan.Timeout
	f.mu.Lock()
	if f.due.Equal(f.ceiling) && f.progress > 0 {
		key, limit = f.plan.CeilingKey, f.plan.Ceiling
	}
	f.mu.Unlock()
	return &core.Error{
		Code:      core.CodeTimeout,
		Message:   fmt.Sprintf("server %q did not answer %s within %s (%s)", f.call.Server, describeCall(f.call), limit, key),
		Hint:      fmt.Sprintf("Raise %s of server %q if the tool needs longer.", key, f.call.Server),
		Retriable: true,
		Cause:     err,
	}
}

// describeCall names the request for people.
func describeCall(call *core.Call) string {
	switch call.Method {
	case "tools/call":
		return fmt.Sprintf("tool %q", call.Name)
	case "prompts/get":
		return fmt.Sprintf("prompt %q", call.Name)
	}
	return call.Method
}
