package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// inFlightCall is one call that was sent to a server. It holds the call's deadline and is the
// sink for notifications and requests that the server sends during the call.
type inFlightCall struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	g      *Gateway
	call   *core.Call
	sink   core.ServerMessageHandler
	plan   policy.Plan
	timer  *time.Timer // calls expire at due

	mu                sync.Mutex // guards the fields below and call.Progress
	due               time.Time  // the deadline of the call
	ceiling           time.Time  // progress never extends due beyond this
	openRequests      int        // open requests from the server to the client
	clockStopped      time.Time  // when openRequests changed from 0 to 1
	finished          bool
	began             time.Time
	progress          int
	progressLog       []core.ProgressNotification
	progressBytes     int       // of progressLog
	lastProgress      float64   // the newest progress that the server reported
	lastProgressEvent time.Time // when the last progress event was published
}

func (g *Gateway) newInFlightCall(ctx context.Context, call *core.Call, sink core.ServerMessageHandler, plan policy.Plan) *inFlightCall {
	f := &inFlightCall{g: g, call: call, sink: sink, plan: plan}
	f.ctx, f.cancel = context.WithCancelCause(core.WithReadmitter(ctx, f))
	now := time.Now()
	f.began = now
	f.due, f.ceiling = now.Add(plan.Timeout), now.Add(plan.Ceiling)
	f.timer = time.AfterFunc(plan.Timeout, f.expire)
	return f
}

// finish removes the deadline of the call. No events are published after it.
func (f *inFlightCall) finish() {
	f.mu.Lock()
	f.finished = true
	f.call.Progress += f.progress
	f.call.ProgressLog = f.progressLog
	f.mu.Unlock()
	f.timer.Stop()
	f.cancel(nil)
}

func (f *inFlightCall) expire() {
	f.mu.Lock()
	// Progress may have extended the deadline meanwhile, or the clock was stopped.
	late := f.openRequests == 0 && !f.finished && !time.Now().Before(f.due)
	f.mu.Unlock()
	if late {
		f.cancel(errTimeout)
	}
}

// extend restarts the timeout, up to the ceiling. The caller must hold f.mu.
func (f *inFlightCall) extend() {
	f.due = time.Now().Add(f.plan.Timeout)
	if f.due.After(f.ceiling) {
		f.due = f.ceiling
	}
	if !f.finished {
		f.timer.Reset(time.Until(f.due))
	}
}

// Notify forwards a notification to the client; progress restarts the timeout.
func (f *inFlightCall) Notify(method string, params json.RawMessage) {
	if method == "notifications/progress" {
		f.mu.Lock()
		f.progress++
		f.recordProgress(params)
		f.lastProgress = parseProgress(params)
		f.extend()
		f.publishProgress()
		f.mu.Unlock()
	}
	if f.sink != nil {
		f.sink.Notify(method, params)
	}
}

// ObserveReply implements core.ReplyObserver. The call and its params are not used after the call
// has finished.
func (f *inFlightCall) ObserveReply(reply core.Reply) {
	o, ok := f.sink.(core.ReplyObserver)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.finished {
		o.ObserveReply(reply)
	}
}

// recordProgress keeps a notification for the recorder. The caller must hold f.mu.
func (f *inFlightCall) recordProgress(params json.RawMessage) {
	if f.finished || len(f.progressLog) == core.MaxProgressLog || f.progressBytes+len(params) > core.MaxProgressBytes {
		return
	}
	if kept, err := wire.WithoutMember(params, "progressToken"); err == nil {
		f.progressBytes += len(params)
		f.progressLog = append(f.progressLog, core.ProgressNotification{AfterMs: time.Since(f.began).Milliseconds(), Params: kept})
	}
}

// progressInterval is the minimum time between two progress events of one call.
const progressInterval = 250 * time.Millisecond

// publishProgress publishes how far the call is. The caller must hold f.mu: nothing may be
// published after the end of the call.
func (f *inFlightCall) publishProgress() {
	if now := time.Now(); !f.finished && now.Sub(f.lastProgressEvent) >= progressInterval {
		f.lastProgressEvent = now
		c := startSnapshot(f.call)
		c.Task, c.Progress = f.call.Task, f.call.Progress+f.progress
		f.g.bus.PublishCall(&c)
	}
}

// Ask forwards a request from the server to the client and records it as a separate call.
// The clock of the call that caused it is stopped meanwhile.
func (f *inFlightCall) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	f.stopClock()
	defer f.startClock()
	f.mu.Lock()
	reached := f.lastProgress
	f.mu.Unlock()
	defer policy.SendKeepAlives(f.sink, f.call, reached, "waiting for a response")()
	reply, err := f.g.ask(ctx, f.call, f.plan, method, params, f.sink)
	if err != nil {
		if refused := f.g.policy.Readmit(f.call, f.plan, f.sink); refused != nil {
			f.cancel(refused) // the server must not go on with the call
		}
	}
	return reply, err
}

// Readmit returns why the call may not be sent any more, or nil.
func (f *inFlightCall) Readmit() error {
	if err := f.g.policy.Readmit(f.call, f.plan, f.sink); err != nil || f.call.Admission.Unchanged == nil || f.call.Continues {
		return err
	}
	return f.call.Admission.Unchanged()
}

// answerGrace is added to the answer timeout, so that the sink can end the question itself: when
// the user does not answer in time the question counts as declined, which is not a timeout.
const answerGrace = 5 * time.Second

// Ask forwards a request from a server to sink and records it as a separate call. cause is the
// call that made the server ask; when no single call did, only its Server is set. Ask is for
// requests that do not arrive while cause is in flight, such as those of a modern server,
// which asks in its result.
func (g *Gateway) Ask(ctx context.Context, cause *core.Call, method string, params json.RawMessage, sink core.ServerMessageHandler) (core.Reply, error) {
	return g.ask(ctx, cause, policy.Plan{}, method, params, sink)
}

// ask is Ask for a cause that was admitted with plan. A question of a call that is no longer
// admitted is withdrawn, and its answer does not reach the server.
func (g *Gateway) ask(ctx context.Context, cause *core.Call, plan policy.Plan, method string, params json.RawMessage, sink core.ServerMessageHandler) (reply core.Reply, err error) {
	call := &core.Call{
		Client: cause.Client, Session: cause.Session, Shim: cause.Shim, Era: cause.Era,
		FromServer: true, Server: cause.Server, Account: cause.Account, Instance: cause.Instance,
		Method: method, Params: params, TraceID: cause.TraceID, SpanID: cause.SpanID, Protocol: cause.Protocol,
	}
	g.beginCall(call)
	defer func() { g.endCall(call, reply, err, stageSending) }()
	if sink == nil {
		return core.Reply{Error: json.RawMessage(`{"code":-32601,"message":"the caller cannot respond to requests"}`)}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, policy.AnswerTimeout+answerGrace)
	defer cancel()
	call.Attempts = 1
	watched, stop := g.policy.Watch(ctx, cause, plan, sink)
	reply, err = sink.Ask(watched, method, params)
	if refused := stop(); refused != nil {
		return core.Reply{}, refused
	}
	if err == nil {
		err = g.policy.Readmit(cause, plan, sink)
	}
	return reply, err
}

// stopClock and startClock exclude the time that the client takes to answer from the timeout
// and from the ceiling.
func (f *inFlightCall) stopClock() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.openRequests++; f.openRequests == 1 {
		f.clockStopped = time.Now()
	}
}

func (f *inFlightCall) startClock() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.openRequests--; f.openRequests > 0 || f.finished {
		return
	}
	waited := time.Since(f.clockStopped)
	f.ceiling, f.due = f.ceiling.Add(waited), f.due.Add(waited)
	f.timer.Reset(time.Until(f.due))
}

// explainTimeout turns the error of Send into a timeout error if our deadline cancelled the call.
func (f *inFlightCall) explainTimeout(err error) error {
	if !errors.Is(context.Cause(f.ctx), errTimeout) {
		return err
	}
	key, limit := f.plan.TimeoutKey, f.plan.Timeout
	f.mu.Lock()
	if f.due.Equal(f.ceiling) && f.progress > 0 {
		key, limit = f.plan.CeilingKey, f.plan.Ceiling
	}
	f.mu.Unlock()
	e := &core.Error{
		Code:      core.CodeTimeout,
		Message:   fmt.Sprintf("server %q did not respond to %s within %s (%s)", f.call.Server, describeCall(f.call), limit, key),
		Hint:      fmt.Sprintf("Increase %s for server %q if the tool needs more time.", key, f.call.Server),
		Retriable: true,
		Cause:     err,
	}
	if unusable, ok := errors.AsType[*wire.UnusableOutputError](err); ok {
		e.Message += ": " + unusable.Problem
		e.Hint = unusable.Hint
	}
	return e
}

// describeCall describes the request for error messages.
func describeCall(call *core.Call) string {
	switch call.Method {
	case "tools/call":
		return fmt.Sprintf("tool %q", call.Name)
	case "prompts/get":
		return fmt.Sprintf("prompt %q", call.Name)
	}
	return call.Method
}

// parseProgress returns the progress value of a progress notification, or 0.
func parseProgress(params []byte) (n float64) {
	_ = wire.Members(params, func(m wire.Member) error {
		if string(m.Name) == "progress" {
			n, _ = strconv.ParseFloat(string(wire.Bytes(params, m.Value)), 64)
		}
		return nil
	})
	return n
}

// runningCalls holds the calls that have begun and not ended.
type runningCalls struct {
	mu    sync.Mutex // guards the fields below
	calls map[int64]*runningCall
	// changed is closed when a call ends; nil unless Drain is running
	changed chan struct{}
}

type runningCall struct {
	*core.Call
	sent bool       // to a server
	task *core.Task // at the start of the call
}

func (r *runningCalls) add(call *core.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[int64]*runningCall)
	}
	r.calls[call.ID] = &runningCall{Call: call, task: call.Task}
}

func (r *runningCalls) remove(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, id)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *runningCalls) markSent(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[id].sent = true
}

// RefuseCalls refuses all calls that begin from now on.
func (g *Gateway) RefuseCalls() { g.stopping.Store(true) }

// Drain waits until the calls that were sent to servers before Drain was called have ended, or
// until ctx is done. It does not wait for calls that wait for the user or for a server. Only one
// goroutine may call Drain at a time.
func (g *Gateway) Drain(ctx context.Context) {
	r := &g.running
	r.mu.Lock()
	defer r.mu.Unlock()
	last := slices.Collect(maps.Keys(r.calls))
	last = slices.DeleteFunc(last, func(id int64) bool { return !r.calls[id].sent })
	for slices.ContainsFunc(last, func(id int64) bool { return r.calls[id] != nil }) {
		changed := make(chan struct{})
		r.changed = changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			r.mu.Lock()
			return
		}
		r.mu.Lock()
	}
}

// Running returns the calls that have begun and not ended, newest first. Only the fields that are
// known at the start of a call are set, and no payloads.
func (g *Gateway) Running() []core.Call {
	g.running.mu.Lock()
	defer g.running.mu.Unlock()
	list := make([]core.Call, 0, len(g.running.calls))
	for _, c := range g.running.calls {
		list = append(list, c.snapshot())
	}
	slices.SortFunc(list, func(x, y core.Call) int { return cmp.Compare(y.ID, x.ID) })
	return list
}

// RunningCall returns the running call with the id, as Running does.
func (g *Gateway) RunningCall(id int64) (core.Call, bool) {
	g.running.mu.Lock()
	defer g.running.mu.Unlock()
	c, ok := g.running.calls[id]
	if !ok {
		return core.Call{}, false
	}
	return c.snapshot(), true
}

func (c *runningCall) snapshot() core.Call {
	copied := startSnapshot(c.Call)
	copied.Task = c.task
	return copied
}

// startSnapshot copies the fields that do not change after a call has begun. The other fields may
// be written concurrently by the owner of the call.
func startSnapshot(c *core.Call) core.Call {
	return core.Call{
		ID: c.ID, At: c.At, Client: c.Client, Session: c.Session, Shim: c.Shim, Workspace: c.Workspace, Account: c.Account, Era: c.Era,
		FromServer: c.FromServer, Server: c.Server, Method: c.RecordedMethod(), Name: c.Name, PublicName: c.PublicName,
		BytesIn: c.BytesIn, TraceID: c.TraceID, SpanID: c.SpanID, Protocol: c.Protocol,
	}
}
