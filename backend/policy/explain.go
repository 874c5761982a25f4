package policy

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// Explanation reports whether a call would be admitted now, with the verdict of each check in the
// order of evaluation.
type Explanation struct {
	Server     string    `json:"server"`
	Tool       string    `json:"tool"`       // name as the server lists it
	PublicName string    `json:"publicName"` // name on the endpoint that all servers share; "" if hidden
	Client     string    `json:"client"`
	Passes     bool      `json:"passes"`
	Checks     []Verdict `json:"checks" nullable:"false"`
	TimeoutMs  int64     `json:"timeoutMs"`
	MaxMs      int64     `json:"maxRequestMs"`
	Attempts   int       `json:"attempts"` // maximum number of attempts
	Rule       string    `json:"rule,omitempty" doc:"JSON text: the argument rule that decides"`
}

// Verdict is the result of one check.
type Verdict struct {
	Name   string `json:"name"`
	Result string `json:"result" enum:"pass,refuse,ask,wait,off"`
	Detail string `json:"detail"` // one sentence
	Key    string `json:"key"`    // deciding configuration key, "" if there is none
}

// Values of Verdict.Result.
const (
	Pass   = "pass"
	Refuse = "refuse"
	Ask    = "ask"  // the user is asked
	Wait   = "wait" // the call waits for a free slot
	Off    = "off"  // nothing is configured
)

// ExplainRequest describes a call that is not made.
type ExplainRequest struct {
	Server, Tool string // Tool is the name that the server lists, or the public name
	Client       string // the client's token; "" means the user
	Arguments    []byte // a JSON object; nil if they are not known
	Workspace    string // working folder of the client
	Profile      string
	Account      string // of the server; "" if it has none
}

// Explain returns the decision about a call, without making it.
func (p *Policy) Explain(rq ExplainRequest) (Explanation, error) {
	server, tool, client := rq.Server, rq.Tool, rq.Client
	view, ok := p.Views.Server(server)
	rules := p.rules.Load()
	s := rules.servers[server]
	if !ok && s == nil {
		return Explanation{}, core.Errorf(core.CodeNotFound, "there is no server named %q", server)
	}
	if s == nil {
		s = rules.fallback
	}
	if ok {
		if target, known := view.Lookup(core.Tools, tool); known {
			tool = target.Name
		} else if held, ok := view.Withheld(core.Tools, tool); ok {
			tool = held.Name
		}
	}
	call := &core.Call{Server: server, Method: "tools/call", Name: tool, PublicName: tool, Client: core.Client{Token: client}, ByUser: client == "",
		Workspace: rq.Workspace, Profile: rq.Profile, Account: rq.Account, Params: rq.Arguments, Arguments: core.Span{End: len(rq.Arguments)}}
	t := s.tool(call)
	e := Explanation{
		Server: server, Tool: tool, Client: client, Passes: true,
		TimeoutMs: t.timeout.Milliseconds(), MaxMs: t.ceiling.Milliseconds(), Attempts: 1 + t.retry.Attempts,
	}
	target, _ := p.lookupTarget(call, s)
	byArguments := decideByArguments(rules.arguments, s, call)
	if rq.Arguments == nil {
		byArguments = rules.decideWithoutArguments(s, call)
	}
	if byArguments.rule != nil {
		e.Rule = byArguments.rule.Text
	}
	for _, v := range []Verdict{
		p.explainOffered(call, s),
		{"size", Pass, fmt.Sprintf("Arguments are limited to %d MiB.", MaxArguments>>20), ""},
		{"depth", Pass, fmt.Sprintf("Arguments can be nested up to %d levels deep.", MaxDepth), ""},
		{"names", Pass, fmt.Sprintf("Names are limited to %d bytes.", MaxName), ""},
		rules.explainArgumentRules(s, call, byArguments),
		p.explainInput(call, t, target),
		explainRate(call, t),
		p.explainApproval(call, rules, s, t, target.Hints, byArguments),
		explainCache(call, t, target.Hints),
		explainBreaker(s.breakerOf(call.Account)),
		explainConcurrency(s.slots),
		{"timeout", Pass, fmt.Sprintf("The call times out after %s without a response or progress, and after %s in total.", t.timeout, t.ceiling), t.timeoutKey},
		explainRetry(s, t, target.Hints),
	} {
		v.Key = rules.fullKey(s, v.Key)
		e.Checks = append(e.Checks, v)
		e.Passes = e.Passes && v.Result != Refuse
	}
	return e, nil
}

// fullKey returns the whole key of a setting of a server, which the policy section may set.
func (r *ruleset) fullKey(s *server, key string) string {
	switch by, here := s.rules.SetBy[key]; {
	case key == "", strings.HasPrefix(key, "policy."):
		return key
	case here && by != key:
		key = "policy." + by
	case here:
	case r.policy.SetBy[key] != "":
		return "policy." + r.policy.SetBy[key]
	}
	return "mcpServers." + s.label + "." + key
}

func (p *Policy) explainOffered(call *core.Call, s *server) Verdict {
	if by := s.filter.HiddenBy(call.Name); by != "" {
		v := Verdict{"offered", Refuse, "The configuration hides the tool: " + by + ".", by}
		if by == config.HiddenByEnabled {
			v.Key = "tools." + call.Name + "." + by
		}
		return v
	}
	target, err := p.lookupTarget(call, s)
	switch {
	case core.CodeOf(err) == core.CodeRejected:
		message, hint := core.Describe(err)
		return Verdict{"offered", Refuse, capitalize(message) + ". " + hint, "toolChanges"}
	case err != nil:
		return Verdict{"offered", Refuse, capitalize(err.Error()) + ".", ""}
	case target.Raw == nil:
		return Verdict{"offered", Pass, "The server has not listed its tools yet; it will be queried.", ""}
	}
	return Verdict{"offered", Pass, "The server offers the tool.", ""}
}

// decideWithoutArguments is decideByArguments for a call whose arguments are not known: rules with
// a condition decide nothing.
func (r *ruleset) decideWithoutArguments(s *server, call *core.Call) argumentDecision {
	for _, rule := range r.argumentRulesFor(s, call) {
		if rule.where == nil {
			return argumentDecision{rule, true}
		}
		if rule.Then == config.RuleDeny {
			break // it may come first
		}
	}
	return argumentDecision{}
}

func (r *ruleset) argumentRulesFor(s *server, call *core.Call) (list []*argumentRule) {
	names := namesOf(s, call)
	for i := range r.arguments {
		if rule := &r.arguments[i]; rule.AppliesTo(call.Server, s.label, call.Client.Token, call.Profile) && rule.matchesTool(&names) {
			list = append(list, rule)
		}
	}
	return list
}

// explainRelativePath says why an allow rule about folders before the deciding one does not apply to a
// relative path, or is "".
func explainRelativePath(list []*argumentRule, s *server, call *core.Call, decided *argumentRule) string {
	for _, rule := range list {
		if rule == decided || call.Params == nil {
			break
		}
		if rule.Then != config.RuleAllow || rule.where == nil || !rule.where.paths {
			continue
		}
		e := evaluation{server: s, call: call}
		e.condition(rule.where)
		for _, text := range slices.Sorted(maps.Keys(e.texts)) {
			if filepath.IsAbs(text) || strings.HasPrefix(text, "~") || strings.Contains(text, ":") {
				continue
			}
			var places []string
			for _, p := range e.texts[text].paths {
				places = append(places, p.path)
			}
			if !e.texts[text].complete {
				places = append(places, "a path in another folder")
			}
			return fmt.Sprintf(" %s (allow) does not apply to the relative path %q, which may be %s: use an absolute path.", rule.Key, text, strings.Join(places, " or "))
		}
	}
	return ""
}

func (r *ruleset) explainArgumentRules(s *server, call *core.Call, d argumentDecision) Verdict {
	list := r.argumentRulesFor(s, call)
	skipped := explainRelativePath(list, s, call, d.rule)
	switch d.then() {
	case config.RuleDeny:
		return Verdict{"rules", Refuse, "A rule denies the call" + d.because() + "." + skipped, d.rule.Key}
	case config.RuleAsk:
		return Verdict{"rules", Pass, "A rule requires approval" + d.because() + "." + skipped, d.rule.Key}
	case config.RuleAllow:
		return Verdict{"rules", Pass, "A rule allows the call" + d.because() + ".", d.rule.Key}
	}
	switch {
	case len(list) == 0:
		return Verdict{"rules", Off, "No rule applies to this tool.", ""}
	case call.Params != nil && len(list) == 1:
		return Verdict{"rules", Pass, "The only rule for this tool does not match the arguments." + skipped, ""}
	case call.Params != nil:
		return Verdict{"rules", Pass, fmt.Sprintf("None of the %d rules for this tool matches the arguments.", len(list)) + skipped, ""}
	}
	words := make([]string, len(list))
	for i, rule := range list {
		words[i] = rule.Key + " (" + rule.Then + ")"
	}
	return Verdict{"rules", Pass, "It depends on the arguments: " + strings.Join(words, ", ") + ".", ""}
}

func (p *Policy) explainInput(call *core.Call, t *tool, target registry.Target) Verdict {
	switch {
	case !t.validate:
		return Verdict{"input", Off, "Only the server validates the arguments.", ""}
	case target.Raw != nil && p.inputs.schema(call.Server, call.Name, target.Raw) == nil:
		return Verdict{"input", Pass, "The tool's schema is not valid, so only the server validates the arguments.", t.validateKey}
	}
	return Verdict{"input", Pass, "Arguments that do not match the tool's schema are rejected.", t.validateKey}
}

func explainRate(call *core.Call, t *tool) Verdict {
	b := t.bucketsFor(call.Client.Token)
	if b == nil {
		return Verdict{"rate", Off, "There is no limit.", ""}
	}
	if wait := b.waitTime(b.key(call)); wait > 0 {
		return Verdict{"rate", Refuse, fmt.Sprintf("Rate limit exceeded: %s. The next call is allowed in %s.", b, roundUp(wait)), b.setting}
	}
	return Verdict{"rate", Pass, "The limit is " + b.String() + ".", b.setting}
}

func (p *Policy) explainApproval(call *core.Call, rules *ruleset, s *server, t *tool, hints registry.Hints, byArguments argumentDecision) Verdict {
	word, why := approvalSetting(rules, s, t, call.Client.Token, hints)
	key := t.approvalKey
	if over := byArguments.overrideApproval(word); over != word || over == config.ApprovalAsk && byArguments.rule != nil {
		word, why, key = over, "a rule allows it", byArguments.rule.Key
		if over == config.ApprovalAsk {
			why = "a rule asks"
		}
		why += byArguments.because()
	}
	if strictness[rules.clients[call.Client.Token]] > strictness[t.approval] {
		key = "policy.clients." + call.Client.Token + ".approval"
	}
	switch {
	case word == config.ApprovalDeny:
		return Verdict{"approval", Refuse, capitalize(why) + ".", key}
	case word == config.ApprovalNever && t.approval == config.ApprovalNever && rules.clients == nil && byArguments.rule == nil:
		return Verdict{"approval", Off, "No approval is required.", ""}
	case word == config.ApprovalNever:
		return Verdict{"approval", Pass, "No approval is required: " + why + ".", key}
	case p.grants.find(s, call, p.grantFor(call, byArguments), time.Now()) != "":
		return Verdict{"approval", Pass, "The user has approved it temporarily.", key}
	case p.Approvals == nil || p.Reachable != nil && !p.Reachable():
		return Verdict{"approval", Refuse, "Approval is required (" + why + "), but neither the window nor the web UI is open to show the request, and drawbridge approvals --wait does not run.", key}
	}
	return Verdict{"approval", Ask, "Approval is required: " + why + ".", key}
}

func explainCache(call *core.Call, t *tool, hints registry.Hints) Verdict {
	key := "tools." + call.Name + ".cacheTtlMs"
	switch {
	case t.cacheTTL == 0:
		return Verdict{"cache", Off, "Results are not cached.", ""}
	case hints.ReadOnly != registry.Yes:
		return Verdict{"cache", Pass, "Results are not cached, because the server does not mark the tool read-only.", key}
	}
	return Verdict{"cache", Pass, fmt.Sprintf("Results are cached for %s, separately for each client and each set of arguments.", t.cacheTTL), key}
}

func explainBreaker(b *breaker) Verdict {
	if b == nil {
		return Verdict{"breaker", Off, "The circuit breaker is disabled.", ""}
	}
	if err := b.checkOpen(); err != nil {
		message, hint := core.Describe(err)
		return Verdict{"breaker", Refuse, capitalize(message) + ". " + hint, "breaker"}
	}
	if s, not := b.currentStatus(); not {
		return Verdict{"breaker", Pass, capitalize(s.Reason) + ".", "breaker"}
	}
	after := "After a failure"
	if b.Failures != 1 {
		after = fmt.Sprintf("After %d failures in a row", b.Failures)
	}
	return Verdict{"breaker", Pass, fmt.Sprintf("%s, calls are rejected for %s.", after, b.Open), ""}
}

func explainConcurrency(s *slots) Verdict {
	if s == nil {
		return Verdict{"concurrency", Off, "The number of concurrent calls is not limited.", ""}
	}
	running, waiting := len(s.sem), s.waiting.Load()
	detail := fmt.Sprintf("%d of %d slots and %d of %d places in the queue are in use.", running, cap(s.sem), waiting, s.queue)
	switch {
	case running < cap(s.sem):
		return Verdict{"concurrency", Pass, detail, "concurrency"}
	case waiting < s.queue:
		return Verdict{"concurrency", Wait, detail, "concurrency"}
	}
	return Verdict{"concurrency", Refuse, detail, "concurrency"}
}

func explainRetry(s *server, t *tool, hints registry.Hints) Verdict {
	if t.retry.Attempts == 0 {
		return Verdict{"retry", Off, "The call is not retried.", ""}
	}
	which := "if it cannot have reached the server"
	if plan := (&Plan{server: s, tool: t, hints: hints}); plan.repeatable(&core.Call{Method: "tools/call"}) {
		which = "if the connection is lost; this is allowed because the server is trusted and the tool is marked read-only or idempotent"
	}
	times := "once"
	if t.retry.Attempts != 1 {
		times = fmt.Sprintf("up to %d times", t.retry.Attempts)
	}
	return Verdict{"retry", Pass, "The call is retried " + times + " " + which + ".", t.retryKey}
}

func capitalize(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Load is the load of a server with a concurrency limit.
type Load struct {
	Server   string `json:"server"`
	Running  int    `json:"running"`
	Queued   int    `json:"queued"`
	Rejected int64  `json:"rejected"` // refused since the start or the last change of the limit
}

// Breakers returns the breakers that are not closed, sorted by server id.
func (p *Policy) Breakers() []BreakerStatus {
	list := []BreakerStatus{}
	for _, s := range p.rules.Load().servers {
		for _, b := range s.allBreakers() {
			if st, ok := b.currentStatus(); ok {
				list = append(list, st)
			}
		}
	}
	slices.SortFunc(list, func(a, b BreakerStatus) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Account, b.Account))
	})
	return list
}

// Breaker returns the status of the first breaker of a server's accounts that is not closed. It returns
// false if there is none.
func (p *Policy) Breaker(server string) (BreakerStatus, bool) {
	if s := p.rules.Load().servers[server]; s != nil {
		for _, b := range s.allBreakers() {
			if st, ok := b.currentStatus(); ok {
				return st, true
			}
		}
	}
	return BreakerStatus{}, false
}

// Loads returns the servers with a concurrency limit that run, queue or have refused calls, sorted
// by id.
func (p *Policy) Loads() []Load {
	list := []Load{}
	for id, s := range p.rules.Load().servers {
		if s.slots == nil {
			continue
		}
		l := Load{id, len(s.slots.sem), int(s.slots.waiting.Load()), s.slots.refused.Load()}
		if l.Running+l.Queued > 0 || l.Rejected > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Load) int { return cmp.Compare(a.Server, b.Server) })
	return list
}

// Reset closes the breakers of a server.
func (p *Policy) Reset(server string) {
	if s := p.rules.Load().servers[server]; s != nil {
		for _, b := range s.allBreakers() {
			b.reset()
		}
	}
}

// Connected allows a test call through the open breaker of an account, because the account has a new
// process or connection. The breaker does not close: every call may crash or block the server.
func (p *Policy) Connected(server, account string) {
	if s := p.rules.Load().servers[server]; s != nil {
		s.breakerOf(account).allowProbe()
	}
}

// explainFolders names the profiles without a tool that apply only to the clients in some folders.
func (f *Feature) explainFolders(profiles []config.Profile, server, tool string) (list []Verdict) {
	for _, p := range profiles {
		if len(p.Folders) == 0 {
			continue
		}
		if _, v := f.explainProfile(p.Name, "profiles."+p.Name+".folders", server, tool); v.Result == Refuse {
			v.Result, v.Detail = Pass, fmt.Sprintf("But in %s, the profile %q applies, which does not contain the tool.", shortPaths(p.Folders), p.Name)
			list = append(list, v)
		}
	}
	return list
}

func shortPaths(paths []string) string {
	const most = 3
	if rest := len(paths) - most; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), rest)
	}
	return strings.Join(paths, ", ")
}

// explainProfile reports whether the profile that the setting key chooses contains a tool, and
// returns what the profile offers. It does not judge a tool that the server is not known to have: the catalog check
// does.
func (f *Feature) explainProfile(profile, key, server, tool string) (*registry.View, Verdict) {
	v := Verdict{Name: "profile", Result: Refuse, Key: key}
	view, ok := f.Views.Profile(profile, 0)
	if !ok {
		v.Detail = fmt.Sprintf("The profile %q applies, which does not exist.", profile)
		return &registry.View{}, v
	}
	if whole, ok := f.Views.Server(server); ok {
		if target, ok := whole.LookupOwnName(core.Tools, tool); !ok || target.Raw == nil {
			return view, Verdict{}
		}
	}
	holds := func(one registry.Item) bool { return one.Server == server && one.Name == tool }
	if v.Detail = fmt.Sprintf("The client's profile %q hides the tool: it does not contain it.", profile); slices.ContainsFunc(view.Items(core.Tools), holds) {
		v.Result, v.Detail = Pass, fmt.Sprintf("The client's profile %q contains the tool.", profile)
	}
	return view, v
}

// explainServer describes what happens to a call at the server.
func explainServer(st core.ServerStatus) Verdict {
	v := Verdict{Name: "server", Result: Wait}
	switch st.State {
	case core.StateRunning:
		v.Result, v.Detail = Pass, "It is running"
	case core.StateDegraded:
		v.Result, v.Detail = Pass, "It responds, but some of its lists are unavailable"
	case core.StateStopped:
		v.Detail = "It is stopped; the next call starts it"
		if st.ManualOnly {
			v.Result, v.Detail = Refuse, "It is stopped, and a call does not start it; use drawbridge start "+st.ID
		}
	case core.StatePaused:
		v.Result, v.Detail = Refuse, "All servers are paused; use drawbridge start --all"
	case core.StateFailed:
		v.Detail = "It has failed; the next call tries to restart it"
	case core.StateDisabled:
		v.Result, v.Detail, v.Key = Refuse, "It is disabled", "mcpServers."+st.Label+".enabled"
	case core.StateNeedsSignIn:
		v.Result, v.Detail = Refuse, "You must sign in to it first"
	case core.StateNeedsApproval:
		v.Result, v.Detail = Refuse, "It does not start until you approve its command"
	default:
		v.Detail = "It is not ready; a call waits for it"
	}
	if st.Reason != "" && st.State != core.StateRunning {
		v.Detail += " (" + strings.TrimSuffix(st.Reason, ".") + ")"
	}
	v.Detail += "."
	return v
}
