package gateway

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// unavailableServers remembers which servers cannot be reached, so that each outage is logged
// once. While all servers are available, a call costs one atomic load.
type unavailableServers struct {
	some atomic.Int32 // len(out)

	mu  sync.Mutex // guards out
	out map[string]bool
}

func (o *unavailableServers) record(log *slog.Logger, call *core.Call, err error) {
	away := core.CodeOf(err) == core.CodeUnavailable
	if !away && (err != nil || o.some.Load() == 0) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.out[call.Server] == away {
		return
	}
	if !away {
		delete(o.out, call.Server)
		log.Info("MCP server is available again", "server", call.Server)
	} else {
		if o.out == nil {
			o.out = make(map[string]bool)
		}
		o.out[call.Server] = true
		log.Warn("MCP server is unavailable: calls to it fail", "server", call.Server, "error", err)
	}
	o.some.Store(int32(len(o.out)))
}
