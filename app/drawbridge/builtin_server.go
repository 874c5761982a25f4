package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/builtin"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/supervisor"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// builtinOverlay adds Drawbridge's built-in server to the configured servers for policy and
// bridge. A configured server with the same id replaces it.
type builtinOverlay struct {
	views      *registry.Registry // contains only the built-in server
	configured *registry.Registry
	settings   atomic.Pointer[config.Bridge]
}

func newBuiltinOverlay(configured *registry.Registry) *builtinOverlay {
	o := &builtinOverlay{views: registry.New(registry.Options{}), configured: configured}
	o.settings.Store(&config.Default().Bridge)
	return o
}

// apply applies the settings of tool lists and notifies clients if their list changes.
func (o *builtinOverlay) apply(b config.Bridge, front *bridge.Bridge) {
	was := o.settings.Swap(&b)
	if was.SelfTools != b.SelfTools || was.DescribeServer != b.DescribeServer {
		front.ListChanged(registry.Change{Kinds: []core.Kind{core.Tools}})
	}
}

func (o *builtinOverlay) inAggregate() bool { return o.settings.Load().SelfTools }
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

// upstreams are the configured servers and the built-in server, which the overlay lists.
type upstreams struct {
	overlay *builtinOverlay
	servers *supervisor.Supervisor
	builtin *builtin.Server
}

func newUpstreams(overlay *builtinOverlay, servers *supervisor.Supervisor, history *store.Store, now func() time.Time) *upstreams {
	own := builtin.NewServer(builtin.Options{Status: servers.Statuses, History: history, SeesAll: overlay.seesAll, Version: version, Now: now})
	overlay.views.Set(builtin.ID, "Drawbridge", own.Catalog())
	return &upstreams{overlay, servers, own}
}

// For implements gateway.Upstreams.
func (u *upstreams) For(ctx context.Context, call *core.Call) (gateway.Upstream, error) {
	if call.Server == builtin.ID {
		if _, taken := u.overlay.configured.Server(builtin.ID); !taken {
			return u.builtin, nil
		}
	}
	return u.servers.For(ctx, call)
}
