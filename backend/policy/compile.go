package policy

import (
	"maps"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// ruleset is a configuration as the call path needs it. It is immutable but for the
// counters that its parts keep.
type ruleset struct {
	servers map[string]*server
	clients map[string]string // approval of single clients, by token; nil when none is set
	other   *server           // for servers that are not configured: our own
}

// server is what the calls of one server are held to.
type server struct {
	id, label string
	trust     bool
	shared    bool // everybody speaks to the same process
	honorTTL  bool
	filter    *config.Filter
	rules     config.Rules
	base      tool   // of tools without settings, and of everything that is not a tool
	plain     tool   // of everything that is not a tool
	launch    string // what runs: another program is another server
	tools     map[string]*tool
	breaker   *breaker
	slots     *slots
}

// tool is what the calls of one tool are held to.
type tool struct {
	timeout, ceiling       time.Duration
	timeoutKey, ceilingKey string
	plain                  bool // nothing is configured but times and the breaker
	approval               string
	approvalKey            string
	allow                  []string
	retry                  config.Retry
	buckets                *buckets
	ownLimits              map[string]*buckets // of single clients, by token
	cacheTTL               time.Duration
	validate               bool
}

func (r *ruleset) server(id string) *server {
	if s := r.servers[id]; s != nil {
		return s
	}
	return r.other
}

func (s *server) tool(call *core.Call) *tool {
	if call.Method != "tools/call" {
		return &s.plain
	}
	if t := s.tools[call.Name]; t != nil {
		return t
	}
	return &s.base
}

// Apply makes c the rules in force. Counters of servers whose rules stay go on; kept
// results are forgotten, and so is what was allowed for a while of a server that runs
// something else now.
func (p *Policy) Apply(c *config.Config) {
	p.applying.Lock()
	defer p.applying.Unlock()
	old := p.rules.Load()
	next := &ruleset{servers: make(map[string]*server, len(c.Servers)), other: p.compile(&config.Server{Rules: config.DefaultRules()}, nil, nil)}
	next.other.breaker = nil
	for token, client := range c.Policy.Clients {
		if client.Approval != "" {
			if next.clients == nil {
				next.clients = make(map[string]string)
			}
			next.clients[token] = client.Approval
		}
	}
	for i := range c.Servers {
		var was *server
		if old != nil {
			was = old.servers[c.Servers[i].ID]
		}
		next.servers[c.Servers[i].ID] = p.compile(&c.Servers[i], c.Policy.Clients, was)
	}
	p.rules.Store(next)
	p.cache.clear()
	if old != nil {
		p.grants.retain(func(server string) bool {
			was, now := old.servers[server], next.servers[server]
			return was != nil && now != nil && was.launch == now.launch
		})
		for id, was := range old.servers {
			if next.servers[id] == nil {
				was.breaker.reset() // whoever shows it learns that it is over
			}
		}
	}
}

// compile puts one server together. was is what it was before, or nil.
func (p *Policy) compile(c *config.Server, clients map[string]config.ClientPolicy, was *server) *server {
	if was == nil {
		was = &server{} // which has no counters to go on with
	}
	s := &server{
		id: c.ID, label: c.Label, trust: c.Trust, shared: c.Session == "" || c.Session == config.SessionShared,
		honorTTL: c.HonorTTL, filter: c.Filter, rules: c.Rules,
		launch: strings.Join(append([]string{c.Command, c.URL, c.Docker.Container, c.Docker.Label}, c.Args...), "\x00"),
	}
	if s.label == "" {
		s.label = s.id
	}
	s.breaker = was.breaker.reuse(newBreaker(s.id, c.Rules.Breaker, p.OnBreaker))
	if s.slots = newSlots(s.id, c.Rules.Concurrency); was.rules.Concurrency == c.Rules.Concurrency {
		s.slots = was.slots
	}
	s.base = tool{
		timeoutKey: "requestTimeoutMs", ceilingKey: "maxRequestMs",
		approval: c.Rules.Approval, approvalKey: serverApproval,
		retry: c.Rules.Retry, validate: c.Rules.ValidateInput == config.ValidateReject,
		buckets: newBuckets(c.Rules.RateLimit, "", "rateLimit", was.base.buckets),
	}
	s.base.times(c.RequestTimeout, c.MaxRequest)
	for token, client := range clients {
		if client.RateLimit != nil {
			s.base.limitClient(token, *client.RateLimit, "policy.clients."+token+".rateLimit", was.base.ownLimits)
		}
	}
	s.base.settle(s)
	s.plain = tool{
		timeout: s.base.timeout, ceiling: s.base.ceiling, timeoutKey: s.base.timeoutKey, ceilingKey: s.base.ceilingKey,
		approval: config.ApprovalNever, retry: s.base.retry,
	}
	s.plain.settle(s)
	s.plain.plain = s.plain.plain && !s.honorTTL
	if c.Filter == nil {
		return s
	}
	s.tools = make(map[string]*tool, len(c.Filter.Tools))
	for name, set := range c.Filter.Tools {
		s.tools[name] = s.override(name, set, was)
	}
	return s
}

// override returns the base with what is set for one tool.
func (s *server) override(name string, set config.Tool, was *server) *tool {
	t := s.base
	path := "tools." + name + "."
	if set.RequestTimeout > 0 {
		t.timeoutKey = path + "requestTimeoutMs"
	}
	if set.MaxRequest > 0 {
		t.ceilingKey = path + "maxRequestMs"
	}
	timeout, ceiling := set.RequestTimeout, set.MaxRequest
	if timeout == 0 {
		timeout = s.base.timeout
	}
	if ceiling == 0 {
		ceiling = s.base.ceiling
	}
	t.times(timeout, ceiling)
	if set.Approval != "" {
		t.approval, t.approvalKey = set.Approval, path+"approval"
	}
	t.allow = set.AllowClients
	if set.ValidateInput != "" {
		t.validate = set.ValidateInput == config.ValidateReject
	}
	if set.Retry != nil {
		t.retry = *set.Retry
	}
	before := was.tools[name]
	if before == nil {
		before = &tool{}
	}
	if set.RateLimit != nil {
		t.buckets = newBuckets(*set.RateLimit, "", path+"rateLimit", before.buckets)
	}
	t.ownLimits = maps.Clone(t.ownLimits)
	for token, limit := range set.ClientLimits {
		t.limitClient(token, limit, path+"clients."+token+".rateLimit", before.ownLimits)
	}
	t.cacheTTL = set.CacheTTL
	t.settle(s)
	return &t
}

// limitClient gives the calls of one client a limit of their own.
func (t *tool) limitClient(token string, limit config.RateLimit, setting string, was map[string]*buckets) {
	if t.ownLimits == nil {
		t.ownLimits = make(map[string]*buckets)
	}
	t.ownLimits[token] = newBuckets(limit, token, setting, was[token])
}

// settle notes whether t asks for more than what every call needs.
func (t *tool) settle(s *server) {
	t.plain = t.approval == config.ApprovalNever && t.buckets == nil && t.ownLimits == nil && t.cacheTTL == 0 && !t.validate && s.slots == nil
}
