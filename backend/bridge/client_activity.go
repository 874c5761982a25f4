package bridge

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// recentTable holds at most limit records. A new one replaces the one that was used longest ago.
type recentTable[K comparable, V interface{ lastUse() time.Time }] struct {
	limit int

	mu    sync.Mutex
	byKey map[K]*V
}

func newRecentTable[K comparable, V interface{ lastUse() time.Time }](limit int) *recentTable[K, V] {
	return &recentTable[K, V]{limit: limit, byKey: map[K]*V{}}
}

// update changes the record with the key, which is first if there is none.
func (t *recentTable[K, V]) update(key K, first V, change func(*V)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey[key] == nil {
		if len(t.byKey) >= t.limit {
			delete(t.byKey, t.oldest())
		}
		t.byKey[key] = &first
	}
	change(t.byKey[key])
}

func (t *recentTable[K, V]) oldest() (oldest K) {
	var since time.Time
	for key, record := range t.byKey {
		if used := (*record).lastUse(); since.IsZero() || used.Before(since) {
			oldest, since = key, used
		}
	}
	return oldest
}

// list returns copies of all records, the last used first.
func (t *recentTable[K, V]) list() []V {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]V, 0, len(t.byKey))
	for _, record := range t.byKey {
		all = append(all, *record)
	}
	slices.SortFunc(all, func(a, b V) int { return b.lastUse().Compare(a.lastUse()) })
	return all
}

// ClientInfo describes a client, for status pages.
type ClientInfo struct {
	core.Client
	Peer
	Protocol string // the negotiated protocol revision
	LastSeen time.Time
}

func (i ClientInfo) lastUse() time.Time { return i.LastSeen }

// ClientInfos returns the clients seen since the start of the daemon, newest first: legacy clients
// after initialize, modern clients after server/discover or a list request. Only the 128 newest are
// kept.
func (b *Bridge) ClientInfos() []ClientInfo { return b.clients.list() }

const maxClientInfos = 128

// clientInfoKey has the era, because a client that speaks both eras has different features in each.
type clientInfoKey struct {
	client core.Client
	era    core.Era
}

// recordClient adds or updates a client. It copies capabilities.
func (b *Bridge) recordClient(client core.Client, era core.Era, protocol string, capabilities []byte) {
	if client.Token == "" && client.Name == "" {
		return // nothing that the user could recognize
	}
	b.clients.update(clientInfoKey{client, era}, ClientInfo{Client: client, Peer: Peer{Era: era}}, func(info *ClientInfo) {
		info.Protocol, info.LastSeen = protocol, b.Now()
		if !bytes.Equal(info.Capabilities, capabilities) {
			info.Capabilities = bytes.Clone(capabilities)
		}
	})
}

// recordModernClient records the client of a modern request.
func (b *Bridge) recordModernClient(rq *request) {
	version, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.ProtocolVersion))
	b.recordClient(rq.client, core.Modern, shorten(version), rq.capabilities)
}

// ClientActivity describes how one client, identified by its token, uses one endpoint.
type ClientActivity struct {
	Token    string
	Endpoint string
	First    time.Time // first request since the daemon started
	Last     time.Time // last listing of tools
	Tools    int       // number of tools in that list
}

func (a ClientActivity) lastUse() time.Time { return a.Last }

// ClientActivities returns the activity of all clients.
func (b *Bridge) ClientActivities() []ClientActivity { return b.activity.list() }

// maxActivities bounds the memory: tokens are few, but clients choose the endpoints.
const maxActivities = 512

type activityKey struct{ token, path string }

// recordActivity stores that a client listed the tools of a view.
func (b *Bridge) recordActivity(c core.Client, ep endpoint, view *registry.View) {
	if c.Token == "" {
		return
	}
	now := b.Now()
	b.activity.update(activityKey{c.Token, ep.path}, ClientActivity{Token: c.Token, Endpoint: ep.path, First: now}, func(activity *ClientActivity) {
		activity.Last, activity.Tools = now, listedTools(ep, view)
	})
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

// parseClientInfo parses the clientInfo object that a client sent.
func parseClientInfo(token string, info []byte) core.Client {
	c := core.Client{Token: token}
	if len(info) == 0 || info[0] != '{' {
		return c
	}
	_ = wire.Members(info, func(m wire.Member) error {
		switch string(m.Name) {
		case "name":
			c.Name, _ = wire.Unquote(wire.Bytes(info, m.Value))
		case "version":
			c.Version, _ = wire.Unquote(wire.Bytes(info, m.Value))
		}
		return nil
	})
	c.Name, c.Version = shorten(c.Name), shorten(c.Version)
	return c
}

// shorten limits a string from a client to 128 bytes.
func shorten(s string) string { return core.CutBytes(s, 128) }
