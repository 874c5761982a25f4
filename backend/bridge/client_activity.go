package bridge

import (
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// ClientActivity describes how one client, identified by its token, uses one endpoint.
type ClientActivity struct {
	Token    string
	Endpoint string
	First    time.Time // first request since the daemon started
	Last     time.Time // last listing of tools
	Tools    int       // number of tools in that list
}

// maxActivities bounds the memory: tokens are few, but clients choose the endpoints.
const maxActivities = 512

// clientActivities records the activity of all clients. The zero value is ready to use.
type clientActivities struct {
	mu   sync.Mutex
	seen map[[2]string]*ClientActivity
}

// record stores that a client listed tools.
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

// ClientActivities returns the activity of all clients, in no order.
func (b *Bridge) ClientActivities() []ClientActivity {
	b.activity.mu.Lock()
	defer b.activity.mu.Unlock()
	all := make([]ClientActivity, 0, len(b.activity.seen))
	for _, one := range b.activity.seen {
		all = append(all, *one)
	}
	return all
}

// listedTools returns how many tools of a view are listed.
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
