package policy

import (
	"cmp"
	"slices"
)

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
