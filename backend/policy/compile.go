package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
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
	next.policy = c.Policy.Rules
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
		p.grants.remove(func(k grantKey) bool {
			was, now := old.servers[k.server], next.servers[k.server]
			return was == nil || now == nil || !maps.Equal(was.launchKeys, now.launchKeys)
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
		retry: c.Rules.Retry, retryKey: "retry", validate: c.Rules.ValidateInput == config.ValidateReject, validateKey: "validateInput",
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
		t.validate, t.validateKey = set.ValidateInput == config.ValidateReject, path+"validateInput"
	}
	if set.Retry != nil {
		t.retry, t.retryKey = *set.Retry, path+"retry"
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

// lookupTarget returns the tool, prompt or resource of a call. It refuses one that the server does
// not list or that the configuration hides. The Raw of the returned target is nil if the server has
// not been listed yet, so that the call has to be checked again later.
func (p *Policy) lookupTarget(call *core.Call, s *server) (registry.Target, error) {
	if call.Local != nil {
		return anyTarget, nil
	}
	var kind core.Kind
	var word string
	switch call.Method {
	case "tools/call":
		kind, word = core.Tools, "tool"
	case "prompts/get":
		kind, word = core.Prompts, "prompt"
	case "completion/complete":
		word = "prompt or resource"
	case "tasks/get", "tasks/result", "tasks/update":
		if word = "task"; call.Name != "" {
			kind, word = core.Tools, "tool"
		}
	default:
		word = "resource"
	}
	if call.Server == "" {
		// If the list of the server is incomplete, the name may have been left out. Clients that
		// are bound to a profile get no information about servers outside of it.
		if id, name, split := strings.Cut(call.PublicName, "__"); split && kind != "" && call.Profile == "" {
			if view, ok := p.Views.Server(id); ok {
				if err := incompleteError(id, view, word, name); err != nil {
					return registry.Target{}, err
				}
			}
		}
		return registry.Target{}, core.Errorf(core.CodeNotFound, "there is no %s named %q%s", word, displayName(call), core.DidYouMean(call.Similar))
	}
	view, ok := p.Views.Server(call.Server)
	if configured := p.rules.Load().servers[call.Server]; !ok && call.ByUser && configured != nil {
		return registry.Target{}, unlistedError(configured)
	}
	if !ok {
		return registry.Target{}, core.Errorf(core.CodeNotFound, "there is no server named %q", call.Server)
	}
	if kind == "" {
		return anyTarget, nil // servers accept URIs and completions that they do not list
	}
	target, ok := view.LookupOwnName(kind, call.Name)
	if ok && kind == core.Tools && s.filter != nil && s.filter.HiddenBy(call.Name) != "" {
		ok = false // the view does not reflect the new configuration yet
	}
	if w, held := view.Withheld(kind, call.Name); held && !ok {
		return target, withheldError(call.Server, word, w)
	}
	if !ok && s.filter.HiddenBy(call.Name) == "" {
		if err := incompleteError(call.Server, view, word, call.Name); err != nil {
			return target, err
		}
	}
	if !ok {
		similar := ""
		if call.ByUser { // a profile may hide the other tools from a client
			similar = view.Similar(kind, call.Name)
		}
		return target, core.Errorf(core.CodeNotFound, "server %q has no %s %q%s", call.Server, word, call.Name, core.DidYouMean(similar))
	}
	return target, nil
}

// unlistedError returns the error for a configured server that offers nothing.
func unlistedError(s *server) error {
	if s.disabled {
		return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q is disabled", s.id), Hint: "Enable it: drawbridge enable " + s.id + "."}
	}
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q has just been added and is not available yet", s.id),
		Hint: "Try again in a moment. See: drawbridge status."}
}

// withheldError returns the error for a tool or prompt whose changed definition has not been
// accepted.
func withheldError(server, word string, w registry.Withheld) error {
	title := w.Name
	if word != "tool" {
		title = strconv.Quote(word + " " + w.Name)
	}
	return &core.Error{
		Code:    core.CodeRejected,
		Message: fmt.Sprintf("%s %q of server %q is withheld: %s", word, w.Name, server, w.Why),
		Hint:    fmt.Sprintf("Review the change in the web UI, or with: drawbridge tools --changes %s. Accept it there, or with: drawbridge tools accept %s %s.", server, server, title),
	}
}

// incompleteError returns the error for a name that may be missing from an incomplete list of a
// server. It returns nil if the list is complete.
func incompleteError(server string, view *registry.View, word, name string) error {
	for _, o := range view.Offers() {
		if left := incompleteWarning(o.Catalog, word); left != "" {
			e := core.Errorf(core.CodeDegraded, "server %q does not list %s %q, and its list is incomplete: %s", server, word, name, left)
			e.Hint = "See its log: drawbridge logs " + server + "."
			return e
		}
	}
	return nil
}

// incompleteWarning returns the warning that a server's list is incomplete, or "".
func incompleteWarning(c *core.Catalog, word string) string {
	if c == nil {
		return ""
	}
	for _, w := range c.Warnings {
		if strings.Contains(w, word) {
			return w
		}
	}
	return ""
}

// anyTarget is the target of calls whose names need not be listed.
var anyTarget = registry.Target{Raw: []byte("{}")}

func displayName(call *core.Call) string {
	if call.PublicName != "" {
		return call.PublicName
	}
	return call.Name
}
