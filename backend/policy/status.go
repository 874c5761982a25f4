package policy

import (
	"cmp"
	"slices"
)

// Load is how many calls a server with a concurrency limit works on.
type Load struct {
	Server  string `json:"server"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
	Shed    int64  `json:"shed"` // turned away since the start
}

// Breakers lists the servers that rest or are about to be tried, by id.
func (p *Policy) Breakers() []BreakerStatus {
	list := []BreakerStatus{}
	for _, s := range p.rules.Load().servers {
		if st, ok := s.breaker.current(); ok {
			list = append(list, st)
		}
	}
	slices.SortFunc(list, func(a, b BreakerStatus) int { return cmp.Compare(a.Server, b.Server) })
	return list
}

// Breaker returns the breaker of one server while calls do not go through; false otherwise.
func (p *Policy) Breaker(server string) (BreakerStatus, bool) {
	if s := p.rules.Load().servers[server]; s != nil {
		return s.breaker.current()
	}
	return BreakerStatus{}, false
}

// Loads lists the servers with a concurrency limit that have work, by id.
func (p *Policy) Loads() []Load {
	list := []Load{}
	for id, s := range p.rules.Load().servers {
		if s.slots == nil {
			continue
		}
		l := Load{id, len(s.slots.places), int(s.slots.waiting.Load()), s.slots.shed.Load()}
		if l.Running+l.Queued > 0 || l.Shed > 0 {
			list = append(list, l)
		}
	}
	slices.SortFunc(list, func(a, b Load) int { return cmp.Compare(a.Server, b.Server) })
	return list
}

// Reset ends a server's rest: the user has seen to it.
func (p *Policy) Reset(server string) {
	if s := p.rules.Load().servers[server]; s != nil {
		s.breaker.reset()
	}
}
