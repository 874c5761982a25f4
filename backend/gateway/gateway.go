// Package gateway is the call path: every request between a client and a server,
// in either direction, goes through Gateway.Call and is recorded there.
package gateway

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"drawbridge/backend/event"
	"drawbridge/backend/hub"
	"drawbridge/backend/policy"
)

// Upstream is a connection to a server. It is an alias so that whoever provides one
// need not import this package.
type Upstream = interface {
	// Send passes call on and waits for the reply. What belongs to the call goes to
	// sink in wire order, before Send returns.
	Send(ctx context.Context, call *hub.Call, sink hub.Sink) (hub.Reply, error)
}

// Upstreams finds the upstream that serves a call. For may wait until the server has
// started, and sets call.Instance.
type Upstreams interface {
	For(ctx context.Context, call *hub.Call) (Upstream, error)
}

// Policy decides whether a call may go ahead, and how long it may take.
type Policy interface {
	Admit(ctx context.Context, call *hub.Call) (policy.Plan, error)
	// Offered repeats the first question of Admit for a call that was admitted
	// before its server had been listed.
	Offered(call *hub.Call) error
}

// Recorder keeps finished calls. Record copies what it keeps before it returns and
// never blocks.
type Recorder interface {
	Record(call *hub.Call, reply hub.Reply)
}

// Options are what a Gateway works with. All but Now and LastID are needed.
type Options struct {
	Upstreams Upstreams
	Policy    Policy
	Recorder  Recorder
	Bus       *event.Bus
	Now       func() time.Time // time.Now when nil
	LastID    int64            // the newest id given before this start
}

// Gateway takes calls. All methods may be called from any goroutine.
type Gateway struct {
	upstreams Upstreams
	policy    Policy
	recorder  Recorder
	bus       *event.Bus
	now       func() time.Time
	lastID    atomic.Int64
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
// error of its own (reply.Error). Once Call has returned, call is read-only.
func (g *Gateway) Call(ctx context.Context, call *hub.Call, sink hub.Sink) (reply hub.Reply, err error) {
	g.begin(call)
	stage := admitting
	defer func() { g.end(call, reply, err, stage) }()

	plan, err := g.policy.Admit(ctx, call)
	if err != nil {
		return hub.Reply{}, err
	}

	stage = waiting
	asked := g.now()
	up, err := g.upstreams.For(ctx, call)
	call.Queued = g.now().Sub(asked)
	if err != nil {
		return hub.Reply{}, err
	}
	if plan.Unlisted {
		if err := g.policy.Offered(call); err != nil {
			stage = admitting
			return hub.Reply{}, err
		}
	}

	stage = sending
	call.Attempts = 1
	f := g.launch(ctx, call, sink, plan)
	defer f.land()
	reply, err = up.Send(f.ctx, call, f)
	if err != nil {
		return hub.Reply{}, f.explain(err)
	}
	if !answers(call.Method, reply) {
		return hub.Reply{}, hub.Errorf(hub.CodeUnavailable, "server %q answered %s with a result that is not an object", call.Server, what(call))
	}
	return reply, nil
}

// stage says how far a call came, which decides how its failure is named.
type stage uint8

const (
	admitting stage = iota
	waiting
	sending
)

// begin gives call its id and time and tells the onlookers.
func (g *Gateway) begin(call *hub.Call) {
	now := g.now()
	call.ID = g.nextID(now)
	if call.At.IsZero() {
		call.At = now.UTC()
	}
	call.BytesIn = len(call.Params)
	g.bus.PublishCall(call)
}

// end fills in how call ended, records it and tells the onlookers.
func (g *Gateway) end(call *hub.Call, reply hub.Reply, err error, at stage) {
	call.Took = g.now().Sub(call.At)
	classify(call, reply, err, at)
	g.recorder.Record(call, reply)
	g.bus.PublishCall(call)
}

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
