package policy

import (
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// allBreakers returns the breakers of all accounts, the default one first.
func (s *server) allBreakers() []*breaker {
	all := []*breaker{s.breaker}
	for _, name := range slices.Sorted(maps.Keys(s.breakers)) {
		all = append(all, s.breakers[name])
	}
	return all
}

// Apply replaces the rules by those of c. Limits and breakers keep their state if their settings
// have not changed. The result cache is cleared, and temporary permissions are revoked for servers
// that were removed or run a different program.
func (p *Policy) Apply(c *config.Config) {
	p.applying.Lock()
	defer p.applying.Unlock()
	old := p.rules.Load()
	next := &ruleset{servers: make(map[string]*server, len(c.Servers)), fallback: p.compile(&config.Server{Rules: config.DefaultRules()}, nil, nil)}
	next.fallback.breaker, next.fallback.launchKeys = nil, nil
	next.arguments = compileArgumentRules(c.Policy.Arguments)
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
	defer p.grants.wake()
	if old != nil {
		p.grants.retainServers(func(server string) bool {
			was, now := old.servers[server], next.servers[server]
			return was != nil && now != nil && maps.Equal(was.launchKeys, now.launchKeys)
		})
		for id, was := range old.servers {
			if next.servers[id] == nil {
				for _, b := range was.allBreakers() {
					b.reset() // notify the observer that the breaker is gone
				}
			}
		}
	}
}

// compile builds the rules of one server. was holds its previous rules, or is nil.
func (p *Policy) compile(c *config.Server, clients map[string]config.ClientPolicy, was *server) *server {
	if was == nil {
		was = &server{} // no state to take over
	}
	s := &server{
		id: c.ID, label: c.Label, disabled: c.Disabled, namespace: c.Namespace, paths: compilePathSettings(c), trust: c.Trust, shared: c.Session == "" || c.Session == config.SessionShared,
		honorTTL: c.HonorTTL, filter: c.Filter, rules: c.Rules,
		launchKeys: map[string]string{"": c.LaunchKey()},
	}
	if s.label == "" {
		s.label = s.id
	}
	s.breaker = was.breaker.reuse(newBreaker(s.id, "", c.Rules.Breaker, func(b BreakerStatus) { p.onBreaker(b) }))
	for name := range c.Accounts {
		if s.breakers == nil {
			s.breakers = make(map[string]*breaker, len(c.Accounts))
		}
		credentials, _ := c.WithAccount(name)
		s.launchKeys[name] = credentials.LaunchKey()
		s.breakers[name] = was.breakers[name].reuse(newBreaker(s.id, name, c.Rules.Breaker, func(b BreakerStatus) { p.onBreaker(b) }))
	}
	for name, b := range was.breakers {
		if _, has := c.Accounts[name]; !has {
			b.reset()
		}
	}
	if s.slots = newSlots(s.id, c.Rules.Concurrency); was.rules.Concurrency == c.Rules.Concurrency {
		s.slots = was.slots
	}
	s.toolDefaults = tool{
		timeoutKey: "requestTimeoutMs", ceilingKey: "maxRequestMs",
		approval: c.Rules.Approval, approvalKey: serverApproval,
		retry: c.Rules.Retry, validate: c.Rules.ValidateInput == config.ValidateReject,
		buckets: newBuckets(c.Rules.RateLimit, "", "rateLimit", was.toolDefaults.buckets),
	}
	s.toolDefaults.setTimeouts(c.RequestTimeout, c.MaxRequest)
	for token, client := range clients {
		if client.RateLimit != nil {
			s.toolDefaults.limitClient(token, *client.RateLimit, "policy.clients."+token+".rateLimit", was.toolDefaults.clientLimits)
		}
	}
	s.toolDefaults.setUnrestricted(s)
	s.nonToolRules = tool{
		timeout: s.toolDefaults.timeout, ceiling: s.toolDefaults.ceiling, timeoutKey: s.toolDefaults.timeoutKey, ceilingKey: s.toolDefaults.ceilingKey,
		approval: config.ApprovalNever, retry: s.toolDefaults.retry,
	}
	s.nonToolRules.setUnrestricted(s)
	s.nonToolRules.unrestricted = s.nonToolRules.unrestricted && !s.honorTTL
	if c.Filter == nil {
		return s
	}
	s.tools = make(map[string]*tool, len(c.Filter.Tools))
	for name, set := range c.Filter.Tools {
		s.tools[name] = s.override(name, set, was)
	}
	return s
}

// override returns the base rules with the settings of one tool applied.
func (s *server) override(name string, set config.Tool, was *server) *tool {
	t := s.toolDefaults
	path := "tools." + name + "."
	if set.RequestTimeout > 0 {
		t.timeoutKey = path + "requestTimeoutMs"
	}
	if set.MaxRequest > 0 {
		t.ceilingKey = path + "maxRequestMs"
	}
	timeout, ceiling := set.RequestTimeout, set.MaxRequest
	if timeout == 0 {
		timeout = s.toolDefaults.timeout
	}
	if ceiling == 0 {
		ceiling = s.toolDefaults.ceiling
	}
	t.setTimeouts(timeout, ceiling)
	if set.Approval != "" {
		t.approval, t.approvalKey = set.Approval, path+"approval"
	}
	t.allowedClients = set.AllowClients
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
	t.clientLimits = maps.Clone(t.clientLimits)
	for token, limit := range set.ClientLimits {
		t.limitClient(token, limit, path+"clients."+token+".rateLimit", before.clientLimits)
	}
	t.cacheTTL = set.CacheTTL
	t.setUnrestricted(s)
	return &t
}

// limitClient sets the rate limit of one client.
func (t *tool) limitClient(token string, limit config.RateLimit, setting string, was map[string]*buckets) {
	if t.clientLimits == nil {
		t.clientLimits = make(map[string]*buckets)
	}
	t.clientLimits[token] = newBuckets(limit, token, setting, was[token])
}
