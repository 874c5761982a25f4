package bridge

import (
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// ClientActivity is what was seen of one client at one endpoint, by its token.
type ClientActivity struct {
	Token    string
	Endpoint string
	First    time.Time // it was seen first, since this daemon runs
	Last     time.Time // it listed tools last
	Tools    int       // that it was shown last
}

// maxActivities bounds what is kept: tokens are few, but endpoints are what clients ask for.
const maxActivities = 512

// clientActivities remembers who has seen which tools. Its zero value is ready.
type clientActivities struct {
	mu   sync.Mutex
	seen map[[2]string]*ClientActivity
}

// record takes down that a client was shown tools.
func (p *clientActivities) record(c core.Client, at endpoint, tools int, now time.Time) {
	if c.Token == "" {
		return
	}
	key := [2]string{c.Token, at.path}
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.seen[key]
	if one == nil {
		if p.seen == nil {
			p.seen = map[[2]string]*ClientActivity{}
		}
		if len(p.seen) >= maxActivities {
			p.dropOldest()
		}
		one = &ClientActivity{Token: c.Token, Endpoint: at.path, First: now}
		p.seen[key] = one
	}
	one.Last, one.Tools = now, tools
}

// dropOldest must be called with p.mu held.
func (p *clientActivities) dropOldest() {
	var oldest [2]string
	var last time.Time
	for key, one := range p.seen {
		if last.IsZero() || one.Last.Before(last) {
			oldest, last = key, one.Last
		}
	}
	delete(p.seen, oldest)
}

// ClientActivities tells who was shown how many tools, in no order.
func (b *Bridge) ClientActivities() []ClientActivity {
	b.activity.mu.Lock()
	defer b.activity.mu.Unlock()
	all := make([]ClientActivity, 0, len(b.activity.seen))
	for _, one := range b.activity.seen {
		all = append(all, *one)
	}
	return all
}

// listedTools is how many tools are listed of a view.
func listedTools(at endpoint, view *registry.View) int {
	n := len(view.Items(core.Tools))
	switch at.mode {
	case ToolsSearch:
		return 2
	case ToolsDeferred:
		return n + 1
	}
	return n
}
