package gateway

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/event"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
)

// Upstream is a connection to a server. It is an alias so that whoever provides one
// need not import this package.
type Upstream = interface {
	// Send passes call on and waits for the reply. What belongs to the call goes to
	// sink in wire order, before Send returns.
	Send(ctx context.Context, call *core.Call, sink core.Sink) (core.Reply, error)
}

// Upstreams finds the upstream that serves a call. For may wait until the server has
// started, and sets call.Instance.
type Upstreams interface {
	For(ctx context.Context, call *core.Call) (Upstream, error)
}

// Policy decides whether a call may go ahead, and how long it may take.
type Policy interface {
	// Admit may wait for the user or a free place. Whoever it admits, End is told of.
	Admit(ctx context.Context, call *core.Call, sink core.Sink) (policy.Plan, error)
	// Listed repeats what Admit could not ask of a server that had not been listed yet.
	Listed(call *core.Call) error
	End(plan policy.Plan, reply core.Reply, err error, sent bool)
}

// Recorder keeps finished calls. Record copies what it keeps before it returns and
// never blocks.
type Recorder interface {
	Record(call *core.Call, reply core.Reply)
}

// Options are what a Gateway works with. All but Now and LastID are needed.
type Options struct {
	Upstreams Upstreams
	Policy    Policy
	Recorder  Recorder
	Bus       *event.Bus
	Log       *slog.Logger     // nil: nothing is logged
	Now       func() time.Time // time.Now when nil
	LastID    int64            // the newest id given before this start
}

// Gateway takes calls. All methods may be called from any goroutine.
type Gateway struct {
	upstreams Upstreams
	policy    Policy
	recorder  Recorder
	bus       *event.Bus
	log       *slog.Logger
	now       func() time.Time
	lastID    atomic.Int64
	outages   unavailableServers
	running   runningCalls
	timeouts  timeouts
}

// New returns a Gateway. It panics when something that it needs is missing.
func New(o Options) *Gateway {
	if o.Upstreams == nil || o.Policy == nil || o.Recorder == nil || o.Bus == nil {
		panic("gateway: incomplete options")
	}
	g := &Gateway{upstreams: o.Upstreams, policy: o.Policy, recorder: o.Recorder, bus: o.Bus, now: o.Now}
	if g.now == nil {
		g.now = time.Now
	}
	if g.log = o.Log; g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.lastID.Store(o.LastID)
	return g
}

// Call takes one request through policy and its server, and records it.
// A refused call is recorded like any other: "why was this denied" is the
// question the call log exists to answer. Progress, log lines and requests of
// the server that belong to this call go to sink, in wire order, before Call returns.
// A nil sink drops them, and answers requests of the server with an error.
//
// The error is nil when the server has answered, be it with a result or with an
// error of its own (reply.Error). Once Call has returned, call is read-only. A panic
// on the way ends this call alone, with the code internal.
func (g *Gateway) Call(ctx context.Context, call *core.Call, sink core.Sink) (reply core.Reply, err error) {
	g.beginCall(call)
	stage, admitted := admitting, false
	var plan policy.Plan
	defer func() {
		if cause := recover(); cause != nil {
			reply, err = core.Reply{}, &panicError{cause, debug.Stack()}
			if admitted {
				stage = sending // how far it came is not known
			}
		}
		if admitted {
			g.policy.End(plan, reply, err, stage == sending)
			g.outages.record(g.log, call, err)
		}
		g.endCall(call, reply, err, stage)
	}()

	if plan, err = g.policy.Admit(ctx, call, sink); err != nil {
		return core.Reply{}, err
	}
	admitted = true
	if plan.Cached != nil {
		return *plan.Cached, nil
	}
	if call.Local != nil {
		stage = sending
		return call.Local(ctx), nil
	}
	for tries := 1; ; tries++ {
		call.Attempts = tries
		if reply, stage, err = g.attempt(ctx, call, sink, plan); err == nil {
			return reply, nil
		}
		pause, again := plan.Again(call, tries, err, stage == sending)
		if !again || !sleep(ctx, pause) {
			return core.Reply{}, err
		}
	}
}

// attempt makes one attempt: it finds the server and sends the call to it.
func (g *Gateway) attempt(ctx context.Context, call *core.Call, sink core.Sink, plan policy.Plan) (core.Reply, stage, error) {
	asked := g.now()
	up, err := g.upstreams.For(ctx, call)
	call.Queued += g.now().Sub(asked)
	if err != nil {
		return core.Reply{}, waiting, err
	}
	if plan.Unlisted {
		if err := g.policy.Listed(call); err != nil {
			return core.Reply{}, admitting, err
		}
	}
	g.running.send(call.ID)
	f := g.start(ctx, call, sink, plan)
	defer f.finish()
	reply, err := up.Send(f.ctx, call, f)
	if err != nil {
		return core.Reply{}, sending, f.explain(err)
	}
	if !isValidReply(call.Method, reply) {
		return core.Reply{}, sending, core.Errorf(core.CodeUnavailable, "server %q answered %s with a result that is not an object", call.Server, describeCall(call))
	}
	return reply, sending, nil
}

// sleep waits, and reports whether ctx went on so long.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stage says how far a call came, which decides how its failure is named.
type stage uint8

const (
	admitting stage = iota
	waiting
	sending
)

// beginCall gives call its id and time and tells the observers.
func (g *Gateway) beginCall(call *core.Call) {
	now := g.now()
	call.ID = g.nextID(now)
	if call.At.IsZero() {
		call.At = now.UTC()
	}
	if call.Began.IsZero() {
		call.Began = now // At has no monotonic reading: it would follow the steps of the clock
	}
	call.BytesIn = len(call.Params)
	g.running.add(call)
	g.bus.PublishCall(call)
}

// endCall fills in how call ended, records it and tells the observers.
func (g *Gateway) endCall(call *core.Call, reply core.Reply, err error, at stage) {
	call.Took = g.now().Sub(call.Began)
	classify(call, reply, err, at)
	if call.Code == core.CodeInternal {
		g.logFailure(call, err)
		call.Stack = stackOf(err)
	}
	g.logCall(call, at)
	g.recorder.Record(call, reply)
	g.running.remove(call.ID)
	g.bus.PublishCall(call)
}

// LastID is the id of the newest call; it grows with each.
func (g *Gateway) LastID() int64 { return g.lastID.Load() }

// nextID returns the microseconds since 1970, or the last id plus one where that
// would not be new. Ids stay distinct when the clock goes back.
func (g *Gateway) nextID(now time.Time) int64 {
	for {
		last := g.lastID.Load()
		id := max(now.UnixMicro(), last+1)
		if g.lastID.CompareAndSwap(last, id) {
			return id
		}
	}
}

// errExpired is the cause of a context that our own deadline has ended.
var errExpired = errors.New("request timeout")
