package profiles

import (
	"sync"
	"weak"

	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// modeCosts are the sizes of the lists of a view, and the choice of the mode auto for a client of
// which nothing is known.
type modeCosts struct {
	tokens  ToolModeTokens
	auto    string
	whyAuto string
}

// costCache retains the costs of the views that were asked for last. A view never changes. The zero value is ready to use.
type costCache struct {
	mu     sync.Mutex
	recent [32]struct {
		view  weak.Pointer[registry.View]
		costs modeCosts
	}
	next int
}

// of returns the costs of a view, which compute calculates once.
func (c *costCache) of(view *registry.View, compute func() modeCosts) modeCosts {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := weak.Make(view)
	for i := range c.recent {
		if c.recent[i].view == key {
			return c.recent[i].costs
		}
	}
	at := &c.recent[c.next]
	c.next = (c.next + 1) % len(c.recent)
	at.view, at.costs = key, compute()
	return at.costs
}
