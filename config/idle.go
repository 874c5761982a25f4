package config

import "fmt"

// Idle says why no server can run, and what to do about it.
type Idle struct {
	Reason string `json:"reason" doc:"Such as: All 3 servers are disabled"`
	Fix    string `json:"fix"`
}

// Idle returns why the configuration lets no server run. It is zero if a server can run, or if
// errors hide what the configuration contains.
func (c *Config) Idle() Idle {
	for _, s := range c.Servers {
		if !s.Disabled {
			return Idle{}
		}
	}
	const enable = "Enable one with: drawbridge enable SERVER"
	switch n := len(c.Servers); {
	case HasErrors(c.Problems):
		return Idle{}
	case !c.MCPEnabled:
		return Idle{"No server runs, because mcp.enabled is false", "Set it to true in the configuration"}
	case n == 0:
		return Idle{"No servers are configured", "Add one with: drawbridge add"}
	case n == 1:
		return Idle{"The only server is disabled", enable}
	default:
		return Idle{fmt.Sprintf("All %d servers are disabled", n), enable}
	}
}
