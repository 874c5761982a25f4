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
	mu    sync.Mutex
	byKey map[[2]string]*ClientActivity
}

// record stores that a client listed tools.
func (a *clientActivities) record(c core.Client, ep endpoint, tools int, now time.Time) {
	if c.Token == "" {
		return
	}
	key := [2]string{c.Token, ep.path}
	a.mu.Lock()
	defer a.mu.Unlock()
	activity := a.byKey[key]
	if activity == nil {
		if a.byKey == nil {
			a.byKey = map[[2]string]*ClientActivity{}
		}
		if len(a.byKey) >= maxActivities {
			a.dropOldest()
		}
		activity = &ClientActivity{Token: c.Token, Endpoint: ep.path, First: now}
		a.byKey[key] = activity
	}
	activity.Last, activity.Tools = now, tools
}

// dropOldest must be called with p.mu held.
func (a *clientActivities) dropOldest() {
	var oldest [2]string
	var last time.Time
	for key, activity := range a.byKey {
		if last.IsZero() || activity.Last.Before(last) {
			oldest, last = key, activity.Last
		}
	}
	delete(a.byKey, oldest)
}

// ClientActivities returns the activity of all clients, in no order.
func (b *Bridge) ClientActivities() []ClientActivity {
	b.activity.mu.Lock()
	defer b.activity.mu.Unlock()
	all := make([]ClientActivity, 0, len(b.activity.byKey))
	for _, activity := range b.activity.byKey {
		all = append(all, *activity)
	}
	return all
}

// listedTools returns how many tools of a view are listed.
func listedTools(ep endpoint, view *registry.View) int {
	n := len(view.Items(core.Tools))
	switch ep.toolMode {
	case ToolsSearch:
		return 2
	case ToolsDeferred:
		return n + 1
	}
	return n
}
