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
		if st, ok := s.breaker.currentStatus(); ok {
			list = append(list, st)
		}
	}
	slices.SortFunc(list, func(a, b BreakerStatus) int { return cmp.Compare(a.Server, b.Server) })
	return list
}

// Breaker returns the status of a server's breaker. It returns false if the breaker is closed or
// there is none.
func (p *Policy) Breaker(server string) (BreakerStatus, bool) {
	if s := p.rules.Load().servers[server]; s != nil {
		return s.breaker.currentStatus()
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

// Reset closes the breaker of a server.
func (p *Policy) Reset(server string) {
	if s := p.rules.Load().servers[server]; s != nil {
		s.breaker.reset()
	}
}
