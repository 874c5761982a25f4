package launch

import "github.com/drawbridge-mcp/drawbridge/config"

// Settings are the servers that may be started directly, by their ids.
func Settings(c *config.Config) map[string]bool {
	direct := map[string]bool{}
	for i := range c.Servers {
		direct[c.Servers[i].ID] = c.Servers[i].Launch == config.LaunchDirect
	}
	return direct
}
