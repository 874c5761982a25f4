package main

import (
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/trust"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// trustRules returns the rules of the configuration about changed tools.
func trustRules(c *config.Config) []trust.ServerSettings {
	list := make([]trust.ServerSettings, 0, len(c.Servers))
	for i := range c.Servers {
		s := &c.Servers[i]
		list = append(list, trust.ServerSettings{Server: s.ID, Mode: s.ToolChanges, Launch: trust.LaunchHash(struct {
			Type, Command string
			Args          []string
			Env           []string
			URL, Docker   string
		}{string(s.Type), s.Command, s.Args, slices.Sorted(maps.Keys(s.Env)), s.URL, s.Docker.Where() + s.Docker.Image})})
	}
	return list
}

// waitingServers counts the servers that have tools waiting for the user's decision.
func waitingServers(baseline *trust.Baseline) int {
	seen := map[string]bool{}
	for _, c := range baseline.Waiting() {
		seen[c.Server] = true
	}
	return len(seen)
}
