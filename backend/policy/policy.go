package policy

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Views tells what each server offers. A *registry.Registry does.
type Views interface {
	Server(id string) (*registry.View, bool)
}

// Approvals asks the user; *approvals.Inbox implements it.
type Approvals interface {
	Ask(ctx context.Context, item approvals.Item) (approvals.Answer, error)
}

// Options are what a Policy works with. Views is needed.
type Options struct {
	Views     Views
	Approvals Approvals // nil: nobody can be asked
	// Reachable reports whether the user would see a question now. Nil: they would.
	Reachable func() bool
	// OnBreaker is told when a server begins or ends its rest. It must not block.
	OnBreaker func(BreakerStatus)
}

// Policy holds the rules in force. All methods may be called from any goroutine.
type Policy struct {
	Options
	rules  atomic.Pointer[ruleset]
	grants grants
	cache  cache
	inputs schemaCache

	applying sync.Mutex
}

// Plan is what an admitted call is allowed. End must be called when the call is over.
type Plan struct {
	Timeout  time.Duration // without an answer or progress
	Ceiling  time.Duration // in all
	Unlisted bool          // the server has not been listed yet: ask Listed once it has
	// TimeoutKey and CeilingKey are the settings that these come from.
	TimeoutKey, CeilingKey string
	// Cached is the answer, when no server needs to be asked.
	Cached *core.Reply

	server  *server
	tool    *tool
	hints   registry.Hints
	ticket  ticket // of the breaker
	slot    bool   // of the server's
	keepFor cacheKey
}

// New returns a Policy with the default rules for every server.
func New(o Options) *Policy {
	p := &Policy{Options: o}
	p.Apply(config.Default())
	return p
}

// Admit asks each check in turn; the first that refuses decides, with a *core.Error.
// It may wait for the user and for a free place; meanwhile, a client that wants
// progress hears some, through sink. It notes in call what the user said and how long
// it waited. A plan that comes with an error needs no End.
func (p *Policy) Admit(ctx context.Context, call *core.Call, sink core.Sink) (plan Plan, err error) {
	rules := p.rules.Load()
	s := rules.server(call.Server)
	t := s.tool(call)
	plan = Plan{Timeout: t.timeout, Ceiling: t.ceiling, TimeoutKey: t.timeoutKey, CeilingKey: t.ceilingKey, server: s, tool: t}

	target, err := p.offered(call, s)
	if err != nil {
		return plan, err
	}
	plan.Unlisted, plan.hints = target.Raw == nil, target.Hints
	if err := size(call); err != nil {
		return plan, err
	}
	if err := depth(call); err != nil {
		return plan, err
	}
	if err := names(call); err != nil {
		return plan, err
	}
	if t.plain && rules.clients == nil { // nothing is configured but what follows
		plan.ticket, err = s.breaker.admit()
		return plan, err
	}
	if err := p.input(call, t, target); err != nil {
		return plan, err
	}
	if err := rateOf(call, t); err != nil {
		return plan, err
	}
	if err := p.approval(ctx, call, rules, &plan, sink); err != nil {
		return plan, err
	}
	if p.cached(call, &plan) {
		return plan, nil
	}
	if err := s.breaker.checkOpen(); err != nil { // before anybody waits for a place
		return plan, err
	}
	if err := s.slots.acquire(ctx, call, &plan); err != nil {
		return plan, err
	}
	if plan.ticket, err = s.breaker.admit(); err != nil {
		plan.release()
		return plan, err
	}
	return plan, nil
}

// Listed repeats what Admit could not ask of a server that had not been listed yet.
func (p *Policy) Listed(call *core.Call) error {
	s := p.rules.Load().server(call.Server)
	target, err := p.offered(call, s)
	if err != nil {
		return err
	}
	return p.input(call, s.tool(call), target)
}

// End takes note of how a call ended that was admitted with plan: reply and err are
// those of the server, sent says that it was passed on to it.
func (p *Policy) End(plan Plan, reply core.Reply, err error, sent bool) {
	if plan.Cached != nil {
		return
	}
	plan.release()
	plan.server.breaker.end(plan.ticket, classifyOutcome(err, sent))
	if plan.keepFor != "" && err == nil {
		p.cache.store(&plan, reply)
	}
}
