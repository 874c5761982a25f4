package policy

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

type argumentRule struct {
	config.ArgumentRule
	id    string // changes with the content of the rule, not with its position
	where *condition
}

type condition struct {
	all, any []condition
	not      *condition
	pointer  []string
	test     *argumentTest
	paths    bool // it depends on paths, which are looked up in the file system
}

type argumentTest struct {
	config.ArgumentTest
	globs    string // all of Glob
	matches  *regexp.Regexp
	min, max *numberBound
}

// numberBound is a bound of a number, exactly and as most servers read it.
type numberBound struct{ exact, rounded *big.Float }

func compileBound(text *json.Number) *numberBound {
	if text == nil {
		return nil
	}
	exact, rounded, err := parseNumber(text.String())
	if err != nil { // an exponent such as e-9999999999
		double, _ := text.Float64() // package config has parsed it
		exact = big.NewFloat(double)
		rounded = exact
	}
	return &numberBound{exact, rounded}
}

// truth is the truth of a condition for all readings of the arguments. A value that a server could
// read in more than one way, or that cannot be read, makes a condition possible but not certain.
// Deny and ask apply if their condition is possible, allow only if it is certain.
type truth struct{ possible, certain bool }

var (
	yes     = truth{true, true}
	no      = truth{}
	unknown = truth{possible: true}
)

func exactly(v bool) truth { return truth{v, v} }

// all combines two readings of the same argument.
func (b truth) all(other truth) truth {
	return truth{b.possible || other.possible, b.certain && other.certain}
}

func (b truth) not() truth { return truth{!b.certain, !b.possible} }
func (b truth) and(other truth) truth {
	return truth{b.possible && other.possible, b.certain && other.certain}
}

func (b truth) or(other truth) truth {
	return truth{b.possible || other.possible, b.certain || other.certain}
}

func compileArgumentRules(list []config.ArgumentRule) []argumentRule {
	var out []argumentRule
	for _, r := range list {
		raw, _ := json.Marshal(r) // strings, numbers and lists of them: cannot fail
		c := argumentRule{ArgumentRule: r, id: string(raw)}
		if r.Where != nil {
			w := compileCondition(r.Where)
			c.where = &w
		}
		out = append(out, c)
	}
	return out
}

// WantsWorkspace reports whether a rule about paths may apply to a call: relative paths may lead to
// the folders of the client, and they may decide its profile.
func (p *Policy) WantsWorkspace(call *core.Call) bool {
	rules := p.rules.Load()
	if len(rules.arguments) == 0 || call.Method != "tools/call" {
		return false
	}
	names := namesOf(rules.server(call.Server), call)
	return slices.ContainsFunc(rules.arguments, func(r argumentRule) bool { return r.where != nil && r.where.paths && r.matchesTool(&names) })
}

func compileCondition(c *config.Condition) condition {
	out := condition{pointer: c.Pointer}
	out.all, out.any = out.compileParts(c.All), out.compileParts(c.Any)
	if c.Not != nil {
		out.not = &out.compileParts([]config.Condition{*c.Not})[0]
	}
	if c.Test != nil {
		t := &argumentTest{ArgumentTest: *c.Test, globs: strings.Join(c.Test.Glob, "")}
		out.paths = t.Under != nil || t.NotUnder != nil
		if c.Test.Matches != "" {
			t.matches = regexp.MustCompile(c.Test.Matches) // package config has compiled it
		}
		t.min, t.max = compileBound(c.Test.Min), compileBound(c.Test.Max)
		out.test = t
	}
	return out
}

// compileParts compiles parts of c, those that depend on paths last.
func (c *condition) compileParts(parts []config.Condition) (out []condition) {
	for i := range parts {
		out = append(out, compileCondition(&parts[i]))
		c.paths = c.paths || out[i].paths
	}
	slices.SortStableFunc(out, func(a, b condition) int {
		switch {
		case a.paths == b.paths:
			return 0
		case a.paths:
			return 1
		}
		return -1
	})
	return out
}

// argumentDecision is the result of the argument rules for a call; rule is nil if none applies.
type argumentDecision struct {
	rule *argumentRule
	// certain is false if the rule applies because an argument cannot be read, or could be read in
	// a way to which the rule applies.
	certain bool
}

func (d argumentDecision) then() string {
	if d.rule == nil {
		return ""
	}
	return d.rule.Then
}

// why describes the decision as the end of a sentence.
func (d argumentDecision) why() string { return d.rule.Key + d.because() }

// words name the rule as users count it: policy.rules[0] is rule 1.
func (d argumentDecision) words() string {
	var index int
	_, _ = fmt.Sscanf(d.rule.Key, "policy.rules[%d]", &index)
	return fmt.Sprintf("rule %d", index+1)
}

// because is the end of a sentence that names the rule.
func (d argumentDecision) because() (text string) {
	if d.rule.Because != "" {
		text = ": " + strings.TrimSuffix(strings.TrimSpace(d.rule.Because), ".")
	}
	if !d.certain {
		text += " (an argument cannot be parsed, or is ambiguous)"
	}
	return text
}

func (r *ruleset) decide(s *server, call *core.Call) argumentDecision {
	return decideByArguments(r.arguments, s, call)
}

// decideByArguments returns the first rule that applies to the call. An ask rule that applies only
// possibly does not end the search for a deny rule, so that an argument that cannot be read never
// gets past one.
func decideByArguments(rules []argumentRule, s *server, call *core.Call) (d argumentDecision) {
	if len(rules) == 0 || call.Method != "tools/call" {
		return d
	}
	e := evaluation{server: s, call: call}
	names := namesOf(s, call)
	for i := range rules {
		r := &rules[i]
		if !r.AppliesTo(call.Server, s.label, call.Client.Token, call.Profile) || !r.matchesTool(&names) {
			continue
		}
		b := yes
		if r.where != nil {
			b = e.condition(r.where)
		}
		switch {
		case r.Then == config.RuleDeny && b.possible:
			return argumentDecision{r, b.certain}
		case !b.certain:
			if r.Then == config.RuleAsk && b.possible && d.rule == nil {
				d = argumentDecision{rule: r}
			}
		case d.rule != nil:
			return d
		default:
			return argumentDecision{r, true}
		}
	}
	return d
}

// toolNames are the names of a tool that a rule may use for it: its own and the one that clients
// see, alone and qualified by each name of its server.
type toolNames struct{ own, qualified []string }

func namesOf(s *server, call *core.Call) (n toolNames) {
	n.own = []string{call.Name}
	if shown := s.filter.PublicName(call.Name); shown != call.Name {
		n.own = append(n.own, shown)
	}
	prefixes := [3]string{call.Server, s.namespace, s.label}
	for i, prefix := range prefixes {
		if prefix == "" || slices.Contains(prefixes[:i], prefix) {
			continue
		}
		for _, name := range n.own {
			n.qualified = append(n.qualified, prefix+"__"+name)
		}
	}
	return n
}

// matchesTool reports whether the tool pattern of the rule matches one of the names of a tool. A
// pattern with "__" may also be a name that the server itself uses. An allow rule matches that one
// only if it names its servers: db__drop would otherwise allow a tool of any server, although the
// user may have meant the tool drop of the server db.
func (r *argumentRule) matchesTool(n *toolNames) bool {
	if r.Tool == "" {
		return true
	}
	matches := func(name string) bool { return config.Match(r.Tool, name) }
	qualified := strings.Contains(r.Tool, "__")
	return (!qualified || r.Then != config.RuleAllow || len(r.Servers) > 0) && slices.ContainsFunc(n.own, matches) ||
		qualified && slices.ContainsFunc(n.qualified, matches)
}

// checkArgumentRules refuses a call to which a deny rule applies.
func checkArgumentRules(call *core.Call, d argumentDecision) error {
	if d.then() != config.RuleDeny {
		return nil
	}
	e := core.Errorf(core.CodeRejected, "a rule denied the call to tool %q of server %q: %s", call.Name, call.Server, d.words()+d.because())
	e.Setting = d.rule.Key
	e.Hint = "Use arguments that the rule permits, or tell the user about " + d.words() + " (Approvals > Argument rules)."
	return e
}

// overrideApproval returns the approval setting of a call: that of the rule, unless the setting is
// deny.
func (d argumentDecision) overrideApproval(setting string) string {
	switch {
	case setting == config.ApprovalDeny || d.rule == nil:
		return setting
	case d.rule.Then == config.RuleAsk:
		return config.ApprovalAsk
	}
	return config.ApprovalNever // a deny rule has refused the call before
}

// question explains to the user why a rule asks, or is "" if no rule does.
func (d argumentDecision) question() string {
	if d.then() != config.RuleAsk {
		return ""
	}
	return "Approval is required by your " + d.words() + d.because() + "."
}

// askingID identifies the rule that asks by its content, or is "".
func (d argumentDecision) askingID() string {
	if d.then() != config.RuleAsk {
		return ""
	}
	return d.rule.id
}

// askingRule is the configuration key of the rule that asks, and its JSON text, or "".
func (d argumentDecision) askingRule() (key, text string) {
	if d.then() != config.RuleAsk {
		return "", ""
	}
	return d.rule.Key, d.rule.Text
}

// ArgumentRules are argument rules that are evaluated without a Policy, for recorded calls.
type ArgumentRules struct {
	rules   ruleset
	now     *config.Config
	servers map[string]*server
}

// NewArgumentRules compiles rules for calls to the servers of now.
func NewArgumentRules(rules []config.ArgumentRule, now *config.Config) *ArgumentRules {
	a := &ArgumentRules{rules: ruleset{arguments: compileArgumentRules(rules)}, now: now, servers: make(map[string]*server)}
	for i := range now.Servers {
		c := &now.Servers[i]
		a.servers[c.ID] = serverForRules(c)
	}
	return a
}

// serverForRules returns the parts of a server that argument rules need.
func serverForRules(c *config.Server) *server {
	return &server{id: c.ID, label: c.Label, namespace: c.Namespace, paths: compilePathSettings(c), filter: c.Filter}
}

func (a *ArgumentRules) prepare(call *core.Call) *server {
	if call.Profile == "" {
		call.Profile = a.now.Clients[call.Client.Token].Profile
	}
	if call.Profile == "" && call.Workspace != "" {
		call.Profile = a.now.ProfileOf(call.Workspace)
	}
	if s := a.servers[call.Server]; s != nil {
		return s
	}
	return &server{id: call.Server, label: call.Server}
}

// NeedsArguments reports whether the decision about a call depends on its arguments. If no rule is
// about its tool, any is false.
func (a *ArgumentRules) NeedsArguments(call *core.Call) (needs, applies bool) {
	list := a.rules.argumentRulesFor(a.prepare(call), call)
	for _, r := range list {
		needs = needs || r.where != nil
	}
	return needs, len(list) > 0
}

// DependsOnProfile reports whether the profile of a call is unknown, and a rule about its tool is
// only for some profiles.
func (a *ArgumentRules) DependsOnProfile(call *core.Call) bool {
	s := a.prepare(call)
	if call.Profile != "" || call.Method != "tools/call" {
		return false
	}
	names := namesOf(s, call)
	for i := range a.rules.arguments {
		r := &a.rules.arguments[i]
		for _, profile := range r.Profiles {
			if r.AppliesTo(call.Server, s.label, call.Client.Token, profile) && r.matchesTool(&names) {
				return true
			}
		}
	}
	return false
}

// RelativeBases returns the folders against which the server of a call may resolve relative paths,
// or nil if not all are known.
func (a *ArgumentRules) RelativeBases(call *core.Call) (folders []string) {
	e := evaluation{server: a.prepare(call), call: call}
	bases, ok := e.relativeBases()
	for _, b := range bases {
		if ok && !b.unlikely {
			folders = append(folders, b.folder)
		}
	}
	return folders
}

// Decide returns what the rules would do with a call, "" if none applies, and the key and the
// reason of the rule that decides.
func (a *ArgumentRules) Decide(call *core.Call) (then, key, why string) {
	d := decideByArguments(a.rules.arguments, a.prepare(call), call)
	if d.rule == nil {
		return "", "", ""
	}
	return d.rule.Then, d.rule.Key, d.why()
}

// Holds reports whether a condition certainly holds for a call.
func Holds(c *config.Condition, call *core.Call, now *config.Config) bool {
	then, _, _ := NewArgumentRules([]config.ArgumentRule{{Where: c, Then: config.RuleAllow}}, now).Decide(call)
	return then == config.RuleAllow
}
