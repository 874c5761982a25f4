package policy

import (
	"context"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Views returns what each server offers. *registry.Registry implements it.
type Views interface {
	Server(id string) (*registry.View, bool)
}

// Approvals asks the user; *approvals.Inbox implements it.
type Approvals interface {
	Ask(ctx context.Context, item approvals.Item) (approvals.Answer, error)
}

// Options configure a Policy. Views is required.
type Options struct {
	Views     Views
	Approvals Approvals // nil if the user cannot be asked
	// Reachable reports whether the user would see a question now. Nil means always.
	Reachable func() bool
	// Process identifies the process that would serve a call now; "" if none is running. It fails if
	// no process may serve the call, or if another account of the server would. Nil means that there
	// are no processes.
	Process func(*core.Call) (string, error)
	// Credential identifies the current token of a client: a permission ends with the token. Nil
	// means that no client has one.
	Credential func(client string) (id [sha256.Size]byte, ok bool)
}

// Policy enforces the rules of the configuration. Its methods are safe for concurrent use.
type Policy struct {
	Options
	rules  atomic.Pointer[ruleset]
	grants grants
	cache  cache
	inputs schemaCache

	applying  sync.Mutex
	onBreaker func(BreakerStatus)
}

// Plan holds the limits of an admitted call. Policy.End must be called after the call.
type Plan struct {
	Timeout  time.Duration // maximum time without a response or progress
	Ceiling  time.Duration // maximum total time
	Unlisted bool          // the server has not been listed yet; Policy.Readmit checks the call once it has
	// TimeoutKey and CeilingKey are the configuration keys of Timeout and Ceiling.
	TimeoutKey, CeilingKey string
	// Cached is the cached reply. If it is not nil, the server need not be called.
	Cached *core.Reply

	rules       *ruleset
	view        *registry.View // of the server
	server      *server
	tool        *tool
	hints       registry.Hints
	definition  []byte
	byArguments argumentDecision
	breaker     *breaker // of the account that the call uses
	ticket      ticket   // for the breaker
	holdsSlot   bool     // a slot of the server is held
	cacheKey    cacheKey
}

// New returns a Policy with the default rules for every server.
func New(o Options) *Policy {
	p := &Policy{Options: o, onBreaker: func(BreakerStatus) {}}
	p.Apply(config.Default())
	return p
}

// ObserveBreakers sets what is called when the state of a breaker changes. It must be called before
// the first call of Admit, and observer must not block.
func (p *Policy) ObserveBreakers(observer func(BreakerStatus)) { p.onBreaker = observer }

// Admit runs the checks in order and returns the *core.Error of the first one that refuses the
// call. It may block for the user's approval, during which it sends progress notifications to sink,
// and for a free slot. It sets Approval, Queued and Cached of call. If it returns an error, End
// need not be called.
func (p *Policy) Admit(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (plan Plan, err error) {
	rules := p.rules.Load()
	s := rules.server(call.Server)
	t := s.tool(call)
	view, _ := p.Views.Server(call.Server)
	plan = Plan{rules: rules, view: view, Timeout: t.timeout, Ceiling: t.ceiling, TimeoutKey: t.timeoutKey, CeilingKey: t.ceilingKey, server: s, tool: t, breaker: s.breakerOf(call.Account)}

	if call.Method == "tasks/result" { // returns when the task has ended
		plan.Timeout, plan.TimeoutKey = plan.Ceiling, plan.CeilingKey
	}

	target, err := p.lookupTarget(call, s)
	if err != nil {
		return plan, err
	}
	plan.Unlisted, plan.hints, plan.definition = target.Raw == nil, target.Hints, target.Raw
	if err := checkAdmission(call, s, target); err != nil {
		return plan, err
	}
	if err := checkSize(call); err != nil {
		return plan, err
	}
	if err := checkDepth(call); err != nil {
		return plan, err
	}
	if err := checkNames(call); err != nil {
		return plan, err
	}
	plan.byArguments = rules.decide(s, call)
	if err := checkArgumentRules(call, plan.byArguments); err != nil {
		return plan, err
	}
	if err := checkTask(call, rules, s, plan.hints); err != nil {
		return plan, err
	}
	if t.unrestricted && rules.clients == nil && plan.byArguments.then() != config.RuleAsk { // only the breaker applies
		plan.ticket, err = plan.breaker.admit()
		return plan, err
	}
	if err := p.validateArguments(call, t, target); err != nil {
		return plan, err
	}
	if !call.Preview { // which is not a call of the client
		if err := checkRate(call, t); err != nil {
			return plan, err
		}
	}
	if err := p.checkApproval(ctx, call, &plan, target, sink); err != nil {
		return plan, err
	}
	if !call.Preview && p.findCached(call, &plan) {
		return plan, nil
	}
	if err := plan.breaker.checkOpen(); err != nil { // before waiting for a slot
		return plan, err
	}
	if err := s.slots.acquire(ctx, call, &plan); err != nil {
		return plan, err
	}
	if plan.ticket, err = plan.breaker.admit(); err != nil {
		plan.releaseSlot()
		return plan, err
	}
	return plan, nil
}

// End records the result of a call that was admitted with plan and releases its slot. reply and err
// are those of the server; sent reports whether the call was sent to it.
func (p *Policy) End(plan Plan, reply core.Reply, err error, sent bool) {
	if plan.Cached != nil {
		return
	}
	plan.breaker.record(plan.ticket, classifyOutcome(err, sent)) // before a waiting call gets the slot and looks at the breaker
	plan.releaseSlot()
	if plan.cacheKey != "" && err == nil {
		p.cache.store(&plan, reply)
	}
}

// ruleset is a configuration compiled for the call path. It is immutable, except for the state of
// its breakers and limits.
type ruleset struct {
	servers   map[string]*server
	arguments []argumentRule
	policy    config.Rules      // of the policy section
	clients   map[string]string // approval settings by client token; nil if there are none
	fallback  *server           // rules for servers that are not configured, such as built-in ones
}

// server holds the rules for the calls of one server.
type server struct {
	id, label    string
	disabled     bool
	namespace    string
	paths        pathSettings
	trust        bool
	shared       bool // all clients share one process
	honorTTL     bool
	filter       *config.Filter
	rules        config.Rules
	toolDefaults tool              // rules for tools without settings
	nonToolRules tool              // rules for requests other than tools/call
	launchKeys   map[string]string // by account; see config.Server.LaunchKey
	tools        map[string]*tool
	breaker      *breaker            // of the default account
	breakers     map[string]*breaker // of the other accounts, by name
	slots        *slots
}

// tool holds the rules for the calls of one tool.
type tool struct {
	timeout, ceiling       time.Duration
	timeoutKey, ceilingKey string
	unrestricted           bool // only timeouts, retries and the breaker apply
	approval               string
	approvalKey            string
	allowedClients         []string
	retry                  config.Retry
	retryKey, validateKey  string
	buckets                *buckets
	clientLimits           map[string]*buckets // limits of clients, by token
	cacheTTL               time.Duration
	validate               bool
}

// previewSetting returns the preview of a tool in the configuration.
func (s *server) previewSetting(tool string) string {
	if s.filter == nil {
		return ""
	}
	return s.filter.Tools[tool].Preview
}

// breakerOf returns the breaker of an account: each has a connection of its own, so that a broken
// one must not affect the calls of the others.
func (s *server) breakerOf(account string) *breaker {
	if b, ok := s.breakers[account]; ok {
		return b
	}
	return s.breaker
}

func (r *ruleset) server(id string) *server {
	if s := r.servers[id]; s != nil {
		return s
	}
	return r.fallback
}

func (s *server) tool(call *core.Call) *tool {
	if call.Method != "tools/call" {
		return &s.nonToolRules
	}
	if t := s.tools[call.Name]; t != nil {
		return t
	}
	return &s.toolDefaults
}

// setUnrestricted sets t.unrestricted, once all other fields are set.
func (t *tool) setUnrestricted(s *server) {
	t.unrestricted = t.approval == config.ApprovalNever && t.buckets == nil && t.clientLimits == nil && t.cacheTTL == 0 && !t.validate && s.slots == nil
}
