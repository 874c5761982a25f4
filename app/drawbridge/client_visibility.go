package main

import (
	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// applyVisibility takes over what the configuration says of profiles and clients. It must
// come before the servers, so that nobody sees a new server who should not. While the
// two halves change, a client sees its old profile or its new one, never more.
func applyVisibility(c *config.Config, views *registry.Registry, front *bridge.Bridge) {
	r := bridge.Visibility{Unknown: c.ReachUnknown, ProfileOf: c.ProfileOf, Clients: map[string]bridge.ClientVisibility{}, Profiles: map[string]bridge.ProfileVisibility{}}
	for name, client := range c.Clients {
		r.Clients[name] = bridge.ClientVisibility{Profile: client.Profile, ToolMode: client.ToolMode}
	}
	for _, p := range c.Profiles {
		r.Profiles[p.Name] = bridge.ProfileVisibility{ToolMode: p.ToolMode}
	}
	if !views.SetProfiles(c.Profiles) && front.HasVisibility(r) {
		return
	}
	front.SetVisibility(r)
}
