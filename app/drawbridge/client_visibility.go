package main

import (
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/bridge"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// applyVisibility applies the profiles and clients of the configuration. It must be called before
// servers are started, so that a new server is never visible to a client that must not see it.
// During the update a client sees either its old or its new profile, never both.
func applyVisibility(c *config.Config, views *registry.Registry, front *bridge.Bridge) {
	r := bridge.Visibility{Unknown: c.VisibilityUnknown, ProfileOf: c.ProfileOf, Clients: map[string]bridge.ClientVisibility{}, Profiles: map[string]bridge.ProfileVisibility{}}
	r.Folders = slices.ContainsFunc(c.Profiles, func(p config.Profile) bool { return len(p.Folders) > 0 })
	for name, client := range c.Clients {
		r.Clients[name] = bridge.ClientVisibility{Profile: client.Profile, ToolMode: client.ToolMode, MaxResultTokens: client.MaxResultTokens}
	}
	for _, p := range c.Profiles {
		r.Profiles[p.Name] = bridge.ProfileVisibility{ToolMode: p.ToolMode}
	}
	if !views.SetProfiles(c.Profiles) && front.HasVisibility(r) {
		return
	}
	front.SetVisibility(r)
}
