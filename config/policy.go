package config

import "time"

// Rules is the complete policy of the calls of a server. The keys of the server win over its
// preset, which wins over the keys of the policy section, which win over the preset there.
type Rules struct {
	Retry         Retry
	Breaker       Breaker
	RateLimit     RateLimit
	Concurrency   Concurrency
	Approval      string // one of Approvals
	ValidateInput string // ValidateOff or ValidateReject
	// SetBy maps the keys that this level of the configuration sets to the key that does: itself, or
	// preset.
	SetBy map[string]string
}

// Retry configures when a call is retried.
type Retry struct {
	Attempts int `key:"attempts"` // after the first attempt
	// Delays are the pauses before the retries; the last one repeats. Without Delays, pauses
	// double from Backoff to MaxBackoff, with jitter.
	Delays     []time.Duration `key:"delaysMs"`
	Backoff    time.Duration   `key:"backoffMs"`
	MaxBackoff time.Duration   `key:"maxBackoffMs"`
}

// Breaker configures the circuit breaker of a server. Failures 0 disables it.
type Breaker struct {
	Failures int           `key:"failures"` // consecutive transport errors and timeouts
	Open     time.Duration `key:"openMs"`   // how long it stays open before a trial call
}

// RateLimit is a token bucket for each caller and tool. PerSecond 0 is no limit.
type RateLimit struct {
	PerSecond float64 `key:"perSecond"`
	Burst     int     `key:"burst"`
	By        string  `key:"by"` // ByClient or BySession
}

// Concurrency limits the concurrent calls of a server. Max 0 means no limit.
type Concurrency struct {
	Max   int `key:"max"`
	Queue int `key:"queue"` // how many more calls may wait
}

// The owner of a token bucket.
const (
	ByClient  = "client"
	BySession = "session"
)

// Whether the user is asked before a call.
const (
	ApprovalNever       = "never"
	ApprovalAsk         = "ask"
	ApprovalDeny        = "deny" // refused without asking
	ApprovalDestructive = "destructive"
)

// Approvals lists the values of approval.
var Approvals = []string{ApprovalNever, ApprovalAsk, ApprovalDeny, ApprovalDestructive}

// ValidateReject refuses arguments that do not match the schema of a tool. With ValidateOff
// only the server validates them.
const ValidateReject = "reject"

// PresetStrict is a preset of rules under which calls fail early.
const PresetStrict = "strict"

// strictTimeout is the requestTimeoutMs of PresetStrict.
const strictTimeout = 5 * time.Second

// DefaultRules apply where the configuration sets nothing.
func DefaultRules() Rules {
	rules := Rules{Approval: ApprovalNever, ValidateInput: ValidateOff}
	schemaTree().Defs["breaker"].setDefaults(&rules.Breaker)
	return rules
}

// Policy is the policy section: rules for all servers, and for single clients.
type Policy struct {
	Rules   Rules
	Clients map[string]ClientPolicy // by the name of their token
	// Arguments are the argument rules, in the order of evaluation.
	Arguments []ArgumentRule
	// AutoPreview runs the preview of a pending call without a request.
	AutoPreview bool
}

// ClientPolicy is the policy of the calls of one client.
type ClientPolicy struct {
	Approval string // one of Approvals, or "" to leave it to servers and tools
	// RateLimit replaces those of servers and tools; nil leaves them.
	RateLimit *RateLimit
}

// rules holds the settings of one level of the configuration; nil and "" are unset.
type rules struct {
	preset        string
	retry         *Retry
	breaker       *Breaker
	rateLimit     *RateLimit
	concurrency   *Concurrency
	approval      string
	validateInput string
}

// over returns base with the settings of this level applied.
func (s rules) over(base Rules) Rules {
	base.SetBy = nil
	set := func(key, by string) {
		if base.SetBy == nil {
			base.SetBy = make(map[string]string)
		}
		base.SetBy[key] = by
	}
	if s.preset == PresetStrict {
		for _, key := range []string{"retry", "breaker", "rateLimit"} {
			set(key, "preset")
		}
		base.Retry = Retry{Attempts: 3, Delays: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}}
		base.Breaker = Breaker{Failures: 5, Open: 30 * time.Second}
		base.RateLimit = RateLimit{PerSecond: 10, Burst: 20, By: ByClient}
	}
	if s.retry != nil {
		base.Retry = *s.retry
		set("retry", "retry")
	}
	if s.breaker != nil {
		base.Breaker = *s.breaker
		set("breaker", "breaker")
	}
	if s.rateLimit != nil {
		base.RateLimit = *s.rateLimit
		set("rateLimit", "rateLimit")
	}
	if s.concurrency != nil {
		base.Concurrency = *s.concurrency
		set("concurrency", "concurrency")
	}
	if s.approval != "" {
		base.Approval = s.approval
		set("approval", "approval")
	}
	if s.validateInput != "" {
		base.ValidateInput = s.validateInput
		set("validateInput", "validateInput")
	}
	return base
}

// ruleFields are the keys of the rules, the same for all servers and for one.
func ruleFields(s *rules) []field {
	return []field{
		retryField(&s.retry),
		breakerField(&s.breaker),
		rateLimitField(&s.rateLimit),
		concurrencyField(&s.concurrency),
		oneOf("approval", &s.approval, Approvals...),
		oneOf("validateInput", &s.validateInput, ValidateOff, ValidateReject),
	}
}

// policyFields are the keys of the policy section.
func policyFields(s *rules, p *Policy) []field {
	clients := &p.Clients
	return append(ruleFields(s),
		argumentRulesField(&p.Arguments),
		oneOf("preset", &s.preset, PresetStrict),
		boolean("autoPreview", &p.AutoPreview),
		objects("clients", func(r *reader, m member) {
			var c ClientPolicy
			r.object(m.value, []field{oneOf("approval", &c.Approval, Approvals...), rateLimitField(&c.RateLimit)})
			if *clients == nil {
				*clients = make(map[string]ClientPolicy)
			}
			(*clients)[m.name] = c
		}),
	)
}

func retryField(to **Retry) field {
	return optional("retry", to, Retry{Attempts: -1}, func(v *Retry) {
		if v.Attempts < 0 { // the length of delays is the number of retries
			v.Attempts = len(v.Delays)
		}
		v.MaxBackoff = max(v.MaxBackoff, v.Backoff)
	})
}

func breakerField(to **Breaker) field { return optional("breaker", to, Breaker{}, nil) }

func rateLimitField(to **RateLimit) field { return optional("rateLimit", to, RateLimit{}, nil) }

func concurrencyField(to **Concurrency) field {
	return optional("concurrency", to, Concurrency{}, nil)
}

// optional is a section that has no effect while it is absent. done, which may be nil, runs
// after its keys were read.
func optional[T any](name string, to **T, begin T, done func(*T)) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		v, keys := begin, schemaTree().Defs[name]
		keys.setDefaults(&v)
		section(name, keys.fields(&v)...).read(r, name, at, n)
		if done != nil {
			done(&v)
		}
		if n.kind == kindObject {
			*to = &v
		}
	}}
}

// objects is an object whose values are objects, each read by read.
func objects(name string, read func(r *reader, m member)) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindObject {
			r.reportWrongKind(n, name, "an object")
			return
		}
		outer := r.path
		seen := make(map[string]bool, len(n.members))
		for _, m := range n.members {
			r.path = join(outer, name)
			switch {
			case seen[m.name]:
				r.report(m.at, m.name, false, "remove one of them", "key '%s' appears twice in '%s'%s", m.name, name, r.inServer())
			case m.value.kind != kindObject:
				r.reportWrongKind(m.value, m.name, "an object")
			default:
				r.path = join(r.path, m.name)
				read(r, m)
			}
			seen[m.name] = true
		}
		r.path = outer
	}}
}
