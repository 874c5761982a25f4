package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
)

// Upstream is a connection to a server. It is an alias, so that its implementations need not import
// this package.
type Upstream = interface {
	// Send sends call to the server and waits for the reply. Messages that belong to the call are
	// passed to sink in wire order before Send returns.
	Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)
}

// Upstreams finds the upstream of a call. For may wait until the server has started, and sets
// call.Instance.
type Upstreams interface {
	For(ctx context.Context, call *core.Call) (Upstream, error)
}

// Policy decides whether a call is admitted, and its timeouts.
type Policy interface {
	// Admit may wait for the user or for a free slot. End must be called for every admitted call.
	Admit(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (policy.Plan, error)
	// Readmit repeats the checks of Admit after a wait. plan is that of Admit, or zero.
	Readmit(call *core.Call, plan policy.Plan, sink core.ServerMessageHandler) error
	// Watch returns a context that is cancelled, with the error as its cause, when Readmit would
	// return one. stop must be called.
	Watch(ctx context.Context, call *core.Call, plan policy.Plan, sink core.ServerMessageHandler) (_ context.Context, stop func() error)
	End(plan policy.Plan, reply core.Reply, err error, sent bool)
}

// Recorder stores finished calls. Record copies what it needs before it returns, and never blocks.
type Recorder interface {
	Record(call *core.Call, reply core.Reply)
}

// Options configures a Gateway. Upstreams, Policy, Recorder and Bus are required.
type Options struct {
	Upstreams Upstreams
	Policy    Policy
	Recorder  Recorder
	Bus       *core.Bus
	// ChooseAccount sets call.Account, or checks it if it is set. It fails if the server has no
	// such account. nil means that no server has accounts.
	ChooseAccount func(call *core.Call) error
	Log           *slog.Logger     // nil: discard
	Now           func() time.Time // nil: time.Now
	LastID        int64            // the newest id that was used before this start
}

// Gateway runs calls. All methods are safe for concurrent use.
type Gateway struct {
	upstreams     Upstreams
	policy        Policy
	recorder      Recorder
	bus           *core.Bus
	chooseAccount func(*core.Call) error
	log           *slog.Logger
	now           func() time.Time
	lastID        atomic.Int64
	outages       outageLog
	running       runningCalls
	stopping      atomic.Bool
}

// New returns a Gateway. It panics if a required option is missing.
func New(o Options) *Gateway {
	if o.Upstreams == nil || o.Policy == nil || o.Recorder == nil || o.Bus == nil {
		panic("gateway: incomplete options")
	}
	g := &Gateway{upstreams: o.Upstreams, policy: o.Policy, recorder: o.Recorder, bus: o.Bus, chooseAccount: o.ChooseAccount, now: o.Now}
	if g.chooseAccount == nil {
		g.chooseAccount = func(*core.Call) error { return nil }
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log = o.Log; g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.lastID.Store(o.LastID)
	return g
}

// Call checks a request against the policy, sends it to its server, and records it. Refused calls
// are recorded as well. Progress, log messages and requests of the server that belong to the call
// are passed to sink in wire order before Call returns. A nil sink drops them, and answers requests
// of the server with an error.
//
// The error is nil if the server has replied, with a result or with a JSON-RPC error (reply.Error).
// After Call has returned, call is read-only. A panic during the call is recovered and becomes an
// error with the code internal.
func (g *Gateway) Call(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (reply core.Reply, err error) {
	unknownAccount := g.chooseAccount(call) // before observers see the call
	g.beginCall(call)
	stage, admitted := stageAdmitting, false
	var plan policy.Plan
	defer func() {
		if cause := recover(); cause != nil {
			reply, err = core.Reply{}, &panicError{cause, debug.Stack()}
			if admitted {
				stage = stageSending // the stage of the panic is unknown
			}
		}
		if admitted {
			g.policy.End(plan, reply, err, stage == stageSending)
			g.outages.record(g.log, call, err)
		}
		g.endCall(call, reply, err, stage)
		reply.Task = call.Task
	}()

	if unknownAccount != nil {
		return core.Reply{}, unknownAccount
	}
	if g.stopping.Load() {
		return core.Reply{}, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge is stopping", Hint: "Try again when it runs.", Retriable: true, Unsent: true}
	}
	if plan, err = g.policy.Admit(ctx, call, sink); err != nil {
		return core.Reply{}, err
	}
	admitted = true
	if plan.Cached != nil {
		return *plan.Cached, nil
	}
	if call.Local != nil {
		stage = stageSending
		return call.Local(ctx), nil
	}
	for tries := 1; ; tries++ {
		call.Attempts = tries
		if reply, stage, err = g.attempt(ctx, call, sink, plan); err == nil {
			return reply, nil
		}
		delay, retry := plan.ShouldRetry(call, tries, err, stage == stageSending)
		if !retry || !core.Sleep(ctx, delay) {
			return core.Reply{}, plan.WithEffect(call, err, stage == stageSending)
		}
	}
}

// RecordNotification records a notification of a server about a task as a call, which has no reply
// but the params of the notification.
func (g *Gateway) RecordNotification(call *core.Call) {
	now := g.now()
	call.ID, call.At, call.Began, call.FromServer, call.BytesIn = g.nextID(now), now.UTC(), now, true, len(call.Params)
	g.running.add(call)
	g.endCall(call, core.Reply{Result: call.Params}, nil, stageSending)
}

// attempt finds the upstream of the call and sends the call to it once.
func (g *Gateway) attempt(ctx context.Context, call *core.Call, sink core.ServerMessageHandler, plan policy.Plan) (core.Reply, callStage, error) {
	began := g.now()
	up, err := g.upstreams.For(ctx, call)
	call.Queued += g.now().Sub(began)
	if err != nil {
		return core.Reply{}, stageWaiting, err
	}
	f := g.newInFlightCall(ctx, call, sink, plan)
	defer f.finish()
	if err := f.Readmit(); err != nil { // the call may have waited
		return core.Reply{}, stageAdmitting, err
	}
	g.running.markSent(call.ID)
	reply, err := up.Send(f.ctx, call, f)
	if err != nil {
		return core.Reply{}, stageSending, f.explainTimeout(err)
	}
	if !isValidReply(call.Method, reply) {
		return core.Reply{}, stageSending, core.Errorf(core.CodeUnavailable, "the response from server %q to %s is not an object", call.Server, describeCall(call))
	}
	return reply, stageSending, nil
}

// callStage is how far a call came. It determines the outcome of a failed call.
type callStage uint8

const (
	stageAdmitting callStage = iota
	stageWaiting
	stageSending
)

// beginCall sets the id and time of a call and publishes it to observers.
func (g *Gateway) beginCall(call *core.Call) {
	now := g.now()
	call.ID = g.nextID(now)
	if call.At.IsZero() {
		call.At = now.UTC()
	}
	if call.Began.IsZero() {
		call.Began = now // At has no monotonic reading, so it would follow clock steps
	}
	call.BytesIn = len(call.Params)
	g.running.add(call)
	if call.WorthRecording == nil {
		g.bus.PublishCall(call)
	}
}

// endCall sets the outcome of a call, records it and publishes it to observers.
func (g *Gateway) endCall(call *core.Call, reply core.Reply, err error, at callStage) {
	call.Took = g.now().Sub(call.Began)
	classify(call, reply, err, at)
	if call.Code == core.CodeInternal {
		g.logFailure(call, err)
		call.Stack = stackOf(err)
	}
	reply.Task = call.Task
	if call.WorthRecording != nil && err == nil && reply.Error == nil && !call.WorthRecording(reply) {
		g.running.remove(call.ID)
		return
	}
	g.logCall(call, at)
	g.recorder.Record(call, reply)
	g.running.remove(call.ID)
	g.bus.PublishCall(call)
}

// LastID returns the id of the newest call. Ids increase with each call.
func (g *Gateway) LastID() int64 { return g.lastID.Load() }

// nextID returns the microseconds since 1970, or the last id plus one if that is greater, so that
// ids are distinct even if the clock steps back.
func (g *Gateway) nextID(now time.Time) int64 {
	for {
		last := g.lastID.Load()
		id := max(now.UnixMicro(), last+1)
		if g.lastID.CompareAndSwap(last, id) {
			return id
		}
	}
}

// errTimeout is the cancellation cause of a call that exceeded its deadline. Its code tells the
// server the reason.
var errTimeout error = core.Errorf(core.CodeTimeout, "request timeout")

// logFailure logs the details that the client does not get.
func (g *Gateway) logFailure(call *core.Call, err error) {
	attrs := []any{"call", call.ID, "server", call.Server, "method", call.Method, "error", err}
	what := "Internal error during a call"
	if stack := stackOf(err); stack != "" {
		what, attrs = "Panic during a call", append(attrs, "stack", stack)
	}
	g.log.Error(what, attrs...)
}

// logCall logs each call at debug level: what was called, the outcome and the duration, never
// arguments or results. The name is logged only if the call was sent to a server; before that
// it is unverified text from a client.
func (g *Gateway) logCall(call *core.Call, at callStage) {
	if !g.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	attrs := []any{"call", call.ID, "client", call.Client.Name, "server", call.Server, "method", call.Method, "outcome", call.Outcome, "took", call.Took}
	if at == stageSending && (call.Method == "tools/call" || call.Method == "prompts/get") {
		attrs = append(attrs, "name", call.Name)
	}
	if call.Code != "" {
		attrs = append(attrs, "code", call.Code)
	}
	if call.Queued > 0 {
		attrs = append(attrs, "queued", call.Queued)
	}
	if call.Attempts > 1 {
		attrs = append(attrs, "attempts", call.Attempts)
	}
	g.log.Debug("Call ended", attrs...)
}

// outageLog remembers which servers cannot be reached, so that each outage is logged
// once. While all servers are available, a call costs one atomic load.
type outageLog struct {
	count atomic.Int32 // len(servers)

	mu      sync.Mutex // guards servers
	servers map[string]bool
}

func (o *outageLog) record(log *slog.Logger, call *core.Call, err error) {
	unavailable := core.CodeOf(err) == core.CodeUnavailable
	if !unavailable && (err != nil || o.count.Load() == 0) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.servers[call.Server] == unavailable {
		return
	}
	if !unavailable {
		delete(o.servers, call.Server)
		log.Info("MCP server is available again", "server", call.Server)
	} else {
		if o.servers == nil {
			o.servers = make(map[string]bool)
		}
		o.servers[call.Server] = true
		log.Warn("MCP server is unavailable: calls to it fail", "server", call.Server, "error", err)
	}
	o.count.Store(int32(len(o.servers)))
}

// panicError is a panic in our code during a call.
type panicError struct {
	cause any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.cause) }

// stackOf returns the stack of a panicError, and "" for any other error.
func stackOf(err error) string {
	if p, ok := errors.AsType[*panicError](err); ok {
		return string(p.stack)
	}
	return ""
}
