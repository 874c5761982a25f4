package config

import (
	"maps"
	"slices"
	"time"
)

// Rules are what policy holds the calls of a server to, filled in: the server's own
// keys win over its preset, that over those of the policy section, these over its preset.
type Rules struct {
	Retry         Retry
	Breaker       Breaker
	RateLimit     RateLimit
	Concurrency   Concurrency
	Approval      string // one of Approvals
	ValidateInput string // ValidateOff or ValidateReject
}

// Retry says when a call is tried again.
type Retry struct {
	Attempts int // after the first try
	// Delays are the pauses before the tries, the last one again and again; without
	// them they double from Backoff to MaxBackoff, with jitter.
	Delays              []time.Duration
	Backoff, MaxBackoff time.Duration
}

// Breaker says when a server that fails gets a rest. Failures 0 is never.
type Breaker struct {
	Failures int           // transport errors and timeouts in a row
	Open     time.Duration // the rest, before one call may try
}

// RateLimit is a token bucket for each caller and tool. PerSecond 0 is no limit.
type RateLimit struct {
	PerSecond float64
	Burst     int
	By        string // ByClient or BySession
}

// Concurrency bounds the calls that a server works on at once. Max 0 is no limit.
type Concurrency struct {
	Max   int
	Queue int // how many more may wait
}

// Who has a token bucket of its own.
const (
	ByClient  = "client"
	BySession = "session"
)

// Whether the user is asked before a call.
const (
	ApprovalNever       = "never"
	ApprovalAsk         = "ask"
	ApprovalDeny        = "deny" // refused, nobody is asked
	ApprovalDestructive = "destructive"
)

// Approvals are the words for approval.
var Approvals = []string{ApprovalNever, ApprovalAsk, ApprovalDeny, ApprovalDestructive}

// ValidateReject refuses arguments that do not fit a tool's schema. With ValidateOff the
// server judges them.
const ValidateReject = "reject"

// PresetStrict is a set of rules for those who would rather have a call fail soon.
const PresetStrict = "strict"

// strictTimeout is requestTimeoutMs under PresetStrict.
const strictTimeout = 5 * time.Second

// Defaults of rules whose section is there but leaves a key out.
const (
	DefaultRetryBackoff    = 500 * time.Millisecond
	DefaultRetryMaxBackoff = 10 * time.Second
	DefaultFailures        = 5
	DefaultOpen            = 30 * time.Second
	DefaultPerSecond       = 10
	DefaultBurst           = 20
	DefaultQueue           = 64
)

// DefaultRules are in force where the configuration says nothing.
func DefaultRules() Rules {
	return Rules{
		Breaker:  Breaker{Failures: DefaultFailures, Open: DefaultOpen},
		Approval: ApprovalNever, ValidateInput: ValidateOff,
	}
}

// Policy is the policy section: rules for all servers, and for single clients.
type Policy struct {
	Rules   Rules
	Clients map[string]ClientPolicy // by the name of their token
}

// ClientPolicy is what the calls of one client are held to.
type ClientPolicy struct {
	Approval string // one of Approvals, or "" for what holds anyway
	// RateLimit takes the place of those of servers and tools; nil leaves them.
	RateLimit *RateLimit
}

// rules are what one level of the configuration says; nil and "" mean nothing.
type rules struct {
	preset        string
	retry         *Retry
	breaker       *Breaker
	rateLimit     *RateLimit
	concurrency   *Concurrency
	approval      string
	validateInput string
}

// over returns base with what this level says in its place.
func (s rules) over(base Rules) Rules {
	if s.preset == PresetStrict {
		base.Retry = Retry{Attempts: 3, Delays: []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}}
		base.Breaker = Breaker{Failures: 5, Open: DefaultOpen}
		base.RateLimit = RateLimit{PerSecond: 10, Burst: 20, By: ByClient}
	}
	if s.retry != nil {
		base.Retry = *s.retry
	}
	if s.breaker != nil {
		base.Breaker = *s.breaker
	}
	if s.rateLimit != nil {
		base.RateLimit = *s.rateLimit
	}
	if s.concurrency != nil {
		base.Concurrency = *s.concurrency
	}
	if s.approval != "" {
		base.Approval = s.approval
	}
	if s.validateInput != "" {
		base.ValidateInput = s.validateInput
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
func policyFields(s *rules, clients *map[string]ClientPolicy) []field {
	return append(ruleFields(s),
		oneOf("preset", &s.preset, PresetStrict),
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
	return optional("retry", to, Retry{Backoff: DefaultRetryBackoff, MaxBackoff: DefaultRetryMaxBackoff}, func(v *Retry) []field {
		v.Attempts = -1
		return []field{
			count("attempts", &v.Attempts, 0, 20),
			delays("delaysMs", &v.Delays),
			millis("backoffMs", time.Millisecond, &v.Backoff),
			millis("maxBackoffMs", time.Millisecond, &v.MaxBackoff),
		}
	}, func(v *Retry) {
		if v.Attempts < 0 { // a list of delays says how often
			v.Attempts = len(v.Delays)
		}
		v.MaxBackoff = max(v.MaxBackoff, v.Backoff)
	})
}

func breakerField(to **Breaker) field {
	return optional("breaker", to, Breaker{Failures: DefaultFailures, Open: DefaultOpen}, func(v *Breaker) []field {
		return []field{count("failures", &v.Failures, 0, 1000), millis("openMs", 10*time.Millisecond, &v.Open)}
	}, nil)
}

func rateLimitField(to **RateLimit) field {
	return optional("rateLimit", to, RateLimit{PerSecond: DefaultPerSecond, Burst: DefaultBurst, By: ByClient}, func(v *RateLimit) []field {
		return []field{
			number("perSecond", &v.PerSecond, 0, 1e6),
			count("burst", &v.Burst, 1, 1e6),
			oneOf("by", &v.By, ByClient, BySession),
		}
	}, nil)
}

func concurrencyField(to **Concurrency) field {
	return optional("concurrency", to, Concurrency{Queue: DefaultQueue}, func(v *Concurrency) []field {
		return []field{count("max", &v.Max, 0, 10000), count("queue", &v.Queue, 0, 10000)}
	}, nil)
}

// optional is a section that changes nothing while it is absent. done, which may be
// nil, settles what follows from its keys.
func optional[T any](name string, to **T, begin T, fields func(*T) []field, done func(*T)) field {
	return field{name, func(r *reader, name string, at Position, n *node) {
		v := begin
		section(name, fields(&v)...).read(r, name, at, n)
		if done != nil {
			done(&v)
		}
		if n.kind == kindObject {
			*to = &v
		}
	}}
}

// objects is an object whose values are objects that read takes one by one.
func objects(name string, read func(r *reader, m member)) field {
	return field{name, func(r *reader, name string, _ Position, n *node) {
		if n.kind != kindObject {
			r.wrong(n, name, "an object")
			return
		}
		outer := r.path
		seen := make(map[string]bool, len(n.members))
		for _, m := range n.members {
			r.path = join(outer, name)
			switch {
			case seen[m.name]:
				r.report(m.at, m.name, false, "remove one of them", "key '%s' appears twice in '%s'%s", m.name, name, r.in())
			case m.value.kind != kindObject:
				r.wrong(m.value, m.name, "an object")
			default:
				r.path = join(r.path, m.name)
				read(r, m)
			}
			seen[m.name] = true
		}
		r.path = outer
	}}
}

// equal reports whether both hold calls to the same.
func (r Rules) equal(o Rules) bool {
	return r.Retry.equal(o.Retry) && r.Breaker == o.Breaker && r.RateLimit == o.RateLimit &&
		r.Concurrency == o.Concurrency && r.Approval == o.Approval && r.ValidateInput == o.ValidateInput
}

func (r Retry) equal(o Retry) bool {
	return r.Attempts == o.Attempts && slices.Equal(r.Delays, o.Delays) && r.Backoff == o.Backoff && r.MaxBackoff == o.MaxBackoff
}

func (p Policy) equal(o Policy) bool {
	return p.Rules.equal(o.Rules) && maps.EqualFunc(p.Clients, o.Clients, ClientPolicy.equal)
}

func (c ClientPolicy) equal(o ClientPolicy) bool {
	return c.Approval == o.Approval && same(c.RateLimit, o.RateLimit, RateLimit.equal)
}

func (l RateLimit) equal(o RateLimit) bool { return l == o }
