package main

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/builtin"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// builtinOverlay adds Drawbridge's built-in server to the configured servers for policy, gateway and
// bridge. A configured server with the same id replaces it.
type builtinOverlay struct {
	views      *registry.Registry // contains only the built-in server
	configured *registry.Registry
	history    *store.Store
	servers    *supervisor.Supervisor
	server     *builtin.Own
	settings   atomic.Pointer[config.Bridge]
}

func newBuiltinOverlay(configured *registry.Registry, history *store.Store) *builtinOverlay {
	o := &builtinOverlay{views: registry.New(registry.Options{}), configured: configured, history: history}
	o.settings.Store(&config.Default().Bridge)
	return o
}

// serve enables the tools. It must be called before the first call.
func (o *builtinOverlay) serve(servers *supervisor.Supervisor) {
	o.servers = servers
	o.server = builtin.NewOwn(builtin.Options{Status: servers.Statuses, History: o.history, SeesAll: o.seesAll, Version: version, Now: clock})
	o.views.Set(builtin.ID, "Drawbridge", o.server.Catalog())
}

// apply applies the settings of tool lists and notifies clients if their list changes.
func (o *builtinOverlay) apply(b config.Bridge, front *bridge.Bridge) {
	was := o.settings.Swap(&b)
	if was.SelfTools != b.SelfTools || was.DescribeServer != b.DescribeServer {
		front.ListChanged(registry.Change{Kinds: []core.Kind{core.Tools}})
	}
}

func (o *builtinOverlay) joins() bool { return o.settings.Load().SelfTools }
func (o *builtinOverlay) seesAll(token string) bool {
	return slices.Contains(o.settings.Load().HistoryFor, token)
}
func (o *builtinOverlay) describes() string { return o.settings.Load().DescribeServer }

// Server implements policy.Views.
func (o *builtinOverlay) Server(id string) (*registry.View, bool) {
	if v, ok := o.configured.Server(id); ok {
		return v, true
	}
	return o.views.Server(id)
}

// For implements gateway.Upstreams.
func (o *builtinOverlay) For(ctx context.Context, call *core.Call) (gateway.Upstream, error) {
	if call.Server == builtin.ID {
		if _, taken := o.configured.Server(builtin.ID); !taken {
			return o.server, nil
		}
	}
	return o.servers.For(ctx, call)
}
