package main

import (
	"context"
	"slices"
	"sync/atomic"

	"drawbridge/backend/bridge"
	"drawbridge/backend/gateway"
	"drawbridge/backend/hub"
	"drawbridge/backend/registry"
	"drawbridge/backend/selfserver"
	"drawbridge/backend/store"
	"drawbridge/backend/supervisor"
	"drawbridge/config"
)

// ownServer puts Drawbridge's own server beside the configured ones, for policy,
// gateway and bridge. A configured server of the same id takes its place.
type ownServer struct {
	views      *registry.Registry // of the own server alone
	configured *registry.Registry
	history    *store.Store
	servers    *supervisor.Supervisor
	server     *selfserver.Own
	settings   atomic.Pointer[config.Bridge]
}

func newOwn(configured *registry.Registry, history *store.Store) *ownServer {
	o := &ownServer{views: registry.New(registry.Options{}), configured: configured, history: history}
	o.settings.Store(&config.Default().Bridge)
	return o
}

// serve begins to offer the tools. It must come before the first call.
func (o *ownServer) serve(servers *supervisor.Supervisor) {
	o.servers = servers
	o.server = selfserver.NewOwn(selfserver.Options{Status: servers.Statuses, History: o.history, SeesAll: o.seesAll, Version: version, Now: clock})
	o.views.Set(selfserver.ID, "Drawbridge", o.server.Catalog())
}

// apply takes over the settings of the lists, and tells clients when these change them.
func (o *ownServer) apply(b config.Bridge, front *bridge.Bridge) {
	was := o.settings.Swap(&b)
	if was.SelfTools != b.SelfTools || was.DescribeServer != b.DescribeServer {
		front.ListChanged(registry.Change{Kinds: []hub.Kind{hub.Tools}})
	}
}

func (o *ownServer) joins() bool { return o.settings.Load().SelfTools }
func (o *ownServer) seesAll(token string) bool {
	return slices.Contains(o.settings.Load().HistoryFor, token)
}
func (o *ownServer) describes() string { return o.settings.Load().DescribeServer }

// Server implements policy.Views.
func (o *ownServer) Server(id string) (*registry.View, bool) {
	if v, ok := o.configured.Server(id); ok {
		return v, true
	}
	return o.views.Server(id)
}

// For implements gateway.Upstreams.
func (o *ownServer) For(ctx context.Context, call *hub.Call) (gateway.Upstream, error) {
	if call.Server == selfserver.ID {
		if _, taken := o.configured.Server(selfserver.ID); !taken {
			return o.server, nil
		}
	}
	return o.servers.For(ctx, call)
}
