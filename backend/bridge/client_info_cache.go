package bridge

import (
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

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
