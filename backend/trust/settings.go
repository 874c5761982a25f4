package trust

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/config"
)

// ServerSettings is the configuration of one server.
type ServerSettings struct {
	Server string
	Mode   string // Ask, Accept or Block
	Launch Hash   // hash of command, arguments, variable names and URL
}

// Settings returns what the configuration says about changed definitions: toolChanges of each server.
func Settings(c *config.Config) []ServerSettings {
	list := make([]ServerSettings, 0, len(c.Servers))
	for i := range c.Servers {
		s := &c.Servers[i]
		list = append(list, ServerSettings{Server: s.ID, Mode: s.ToolChanges, Launch: launchHash(struct {
			Type, Command string
			Args          []string
			Env           []string
			URL, Docker   string
		}{string(s.Type), s.Command, s.Args, slices.Sorted(maps.Keys(s.Env)), s.URL, s.Docker.Where() + s.Docker.Image})})
	}
	return list
}

// launchHash returns the hash for ServerSettings.Launch of parts, which must be encodable as JSON.
func launchHash(parts any) Hash {
	b, _ := json.Marshal(parts)
	return hashOf(b)
}
