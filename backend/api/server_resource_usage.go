package api

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func (a *API) serverUsage(context.Context, *none) (*answer[List[ServerUsage]], error) {
	return reply(List[ServerUsage]{Items: a.usageOf(a.Servers.Statuses())})
}

// usageOf measures the servers that have a process on this machine.
func (a *API) usageOf(servers []core.ServerStatus) []ServerUsage {
	list := []ServerUsage{}
	for _, s := range servers {
		if s.PID == 0 && len(s.Instances) == 0 {
			continue
		}
		if u, err := a.Usage(s.ID); err == nil {
			list = append(list, ServerUsage{Server: s.ID, RSS: u.RSS, CPU: u.CPU, Processes: len(u.Tree)})
		}
	}
	return list
}
