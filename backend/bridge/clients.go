package bridge

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// ClientInfo describes a client, for status pages.
type ClientInfo struct {
	core.Client
	Peer
	Protocol string // the negotiated protocol revision
	LastSeen time.Time
}

// ClientInfos returns the clients seen since the start of the daemon, newest first: legacy clients
// after initialize, modern clients after server/discover or a list request. Only the 128 newest are
// kept.
func (b *Bridge) ClientInfos() []ClientInfo { return b.clients.list() }

const maxClientInfos = 128

// clientInfos records clients. The zero value is ready to use.
type clientInfos struct {
	mu    sync.Mutex
	byKey map[clientInfoKey]*ClientInfo
}

// clientInfoKey has the era, because a client that speaks both eras has different features in each.
type clientInfoKey struct {
	client core.Client
	era    core.Era
}

// record adds or updates a client. It copies capabilities.
func (c *clientInfos) record(client core.Client, era core.Era, protocol string, capabilities []byte, now time.Time) {
	if client.Token == "" && client.Name == "" {
		return // nothing that the user could recognize
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := clientInfoKey{client, era}
	existing := c.byKey[key]
	if existing == nil {
		if c.byKey == nil {
			c.byKey = map[clientInfoKey]*ClientInfo{}
		}
		if len(c.byKey) >= maxClientInfos {
			c.forgetOldest()
		}
		existing = &ClientInfo{Client: client, Peer: Peer{Era: era}}
		c.byKey[key] = existing
	}
	existing.Protocol, existing.LastSeen = protocol, now
	if !bytes.Equal(existing.Capabilities, capabilities) {
		existing.Capabilities = bytes.Clone(capabilities)
	}
}

// forgetOldest must be called with p.mu held.
func (c *clientInfos) forgetOldest() {
	var oldest clientInfoKey
	var since time.Time
	for key, info := range c.byKey {
		if since.IsZero() || info.LastSeen.Before(since) {
			oldest, since = key, info.LastSeen
		}
	}
	delete(c.byKey, oldest)
}

func (c *clientInfos) list() []ClientInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]ClientInfo, 0, len(c.byKey))
	for _, info := range c.byKey {
		list = append(list, *info)
	}
	slices.SortFunc(list, func(a, b ClientInfo) int { return b.LastSeen.Compare(a.LastSeen) })
	return list
}

// recordClient records the client of a modern request.
func (b *Bridge) recordClient(rq *request) {
	version, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.ProtocolVersion))
	b.clients.record(rq.client, core.Modern, shorten(version), rq.capabilities, b.Now())
}

// clientInfoCache caches parsed client infos, because modern clients send theirs with every
// request. The zero value is ready to use.
type clientInfoCache struct {
	mu     sync.Mutex // guards byInfo
	byInfo map[string]core.Client
}

// Limits of clientInfoCache.
const (
	maxCachedInfos = 64
	maxClientInfo  = 512 // bytes; larger ones are not cached
)

func (cache *clientInfoCache) get(token string, info []byte) core.Client {
	if len(info) > maxClientInfo {
		return parseClientInfo(token, info)
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	c, ok := cache.byInfo[string(info)]
	if !ok {
		if cache.byInfo == nil || len(cache.byInfo) >= maxCachedInfos {
			cache.byInfo = make(map[string]core.Client)
		}
		c = parseClientInfo("", info)
		cache.byInfo[string(info)] = c
	}
	c.Token = token
	return c
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
func shorten(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

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
