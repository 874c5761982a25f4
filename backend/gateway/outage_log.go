package gateway

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// outageLog remembers which servers cannot be reached, so that each outage is logged
// once. While all servers are available, a call costs one atomic load.
type outageLog struct {
	count atomic.Int32 // len(servers)

	mu      sync.Mutex // guards servers
	servers map[string]bool
}

func (o *outageLog) record(log *slog.Logger, call *core.Call, err error) {
	unavailable := core.CodeOf(err) == core.CodeUnavailable
	if !unavailable && (err != nil || o.count.Load() == 0) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.servers[call.Server] == unavailable {
		return
	}
	if !unavailable {
		delete(o.servers, call.Server)
		log.Info("MCP server is available again", "server", call.Server)
	} else {
		if o.servers == nil {
			o.servers = make(map[string]bool)
		}
		o.servers[call.Server] = true
		log.Warn("MCP server is unavailable: calls to it fail", "server", call.Server, "error", err)
	}
	o.count.Store(int32(len(o.servers)))
}
