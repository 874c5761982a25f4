package bridge

import (
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// Presence is what was seen of one client at one endpoint, by its token.
type Presence struct {
	Token    string
	Endpoint string
	First    time.Time // it was seen first, since this daemon runs
	Last     time.Time // it listed tools last
	Tools    int       // that it was shown last
}

// maxPresences bounds what is kept: tokens are few, but endpoints are what clients ask for.
const maxPresences = 512

// presences remembers who has seen which tools. Its zero value is ready.
type presences struct {
	mu   sync.Mutex
	seen map[[2]string]*Presence
}

// note takes down that a client was shown tools.
func (p *presences) note(c core.Client, at endpoint, tools int, now time.Time) {
	if c.Token == "" {
		return
	}
	key := [2]string{c.Token, at.path}
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.seen[key]
	if one == nil {
		if p.seen == nil {
			p.seen = map[[2]string]*Presence{}
		}
		if len(p.seen) >= maxPresences {
			p.dropOldest()
		}
		one = &Presence{Token: c.Token, Endpoint: at.path, First: now}
		p.seen[key] = one
	}
	one.Last, one.Tools = now, tools
}

// dropOldest needs p.mu.
func (p *presences) dropOldest() {
	var oldest [2]string
	var last time.Time
	for key, one := range p.seen {
		if last.IsZero() || one.Last.Before(last) {
			oldest, last = key, one.Last
		}
	}
	delete(p.seen, oldest)
}

// Presences tells who was shown how many tools, in no order.
func (b *Bridge) Presences() []Presence {
	b.present.mu.Lock()
	defer b.present.mu.Unlock()
	all := make([]Presence, 0, len(b.present.seen))
	for _, one := range b.present.seen {
		all = append(all, *one)
	}
	return all
}

// shown is how many tools are listed of a view.
func shown(at endpoint, view *registry.View) int {
	n := len(view.Items(core.Tools))
	switch at.mode {
	case ToolsSearch:
		return 2
	case ToolsDeferred:
		return n + 1
	}
	return n
}
