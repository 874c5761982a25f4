package policy

import (
	"time"

	"drawbridge/backend/hub"
)

// How long a call may take unless the server's configuration says otherwise.
const (
	DefaultTimeout = 30 * time.Second // without an answer or progress
	DefaultCeiling = 10 * time.Minute // in all, however much progress there is
	AnswerTimeout  = 2 * time.Minute  // for a client's answer to a request of the server
)

// Limits are one server's own; zero means the default.
type Limits struct {
	Timeout time.Duration // requestTimeoutMs
	Ceiling time.Duration // maxRequestMs
}

// SetLimits replaces the limits of all servers; a server that is not in limits has
// the defaults. The Policy keeps limits: do not change it afterwards.
func (p *Policy) SetLimits(limits map[string]Limits) { p.limits.Store(&limits) }

func (p *Policy) timeouts(call *hub.Call) Plan {
	l := (*p.limits.Load())[call.Server]
	plan := Plan{Timeout: l.Timeout, Ceiling: l.Ceiling}
	if plan.Timeout <= 0 {
		plan.Timeout = DefaultTimeout
	}
	if plan.Ceiling <= 0 {
		plan.Ceiling = DefaultCeiling
	}
	plan.Timeout = min(plan.Timeout, plan.Ceiling)
	return plan
}
