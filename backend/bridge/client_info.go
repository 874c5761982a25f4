package bridge

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
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
