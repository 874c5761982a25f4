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
	mu sync.Mutex
	by map[clientInfoKey]*ClientInfo
}

// clientInfoKey has the era, because a client that speaks both eras has different features in each.
type clientInfoKey struct {
	client core.Client
	era    core.Era
}

// record adds or updates a client. It copies capabilities.
func (p *clientInfos) record(client core.Client, era core.Era, protocol string, capabilities []byte, now time.Time) {
	if client.Token == "" && client.Name == "" {
		return // nothing that the user could recognize
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := clientInfoKey{client, era}
	known := p.by[key]
	if known == nil {
		if p.by == nil {
			p.by = map[clientInfoKey]*ClientInfo{}
		}
		if len(p.by) >= maxClientInfos {
			p.forgetOldest()
		}
		known = &ClientInfo{Client: client, Peer: Peer{Era: era}}
		p.by[key] = known
	}
	known.Protocol, known.LastSeen = protocol, now
	if !bytes.Equal(known.Capabilities, capabilities) {
		known.Capabilities = bytes.Clone(capabilities)
	}
}

// forgetOldest must be called with p.mu held.
func (p *clientInfos) forgetOldest() {
	var oldest clientInfoKey
	var since time.Time
	for key, one := range p.by {
		if since.IsZero() || one.LastSeen.Before(since) {
			oldest, since = key, one.LastSeen
		}
	}
	delete(p.by, oldest)
}

func (p *clientInfos) list() []ClientInfo {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]ClientInfo, 0, len(p.by))
	for _, one := range p.by {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b ClientInfo) int { return b.LastSeen.Compare(a.LastSeen) })
	return list
}

// recordClient records the client of a modern request.
func (b *Bridge) recordClient(rq *request) {
	version, _ := wire.Unquote(wire.Bytes(rq.params, rq.spans.ProtocolVersion))
	b.clients.record(rq.client, core.Modern, shorten(version), rq.capabilities, b.Now())
}
