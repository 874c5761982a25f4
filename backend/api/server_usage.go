package api

import (
	"context"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

func (a *API) serverUsage(context.Context, *web.None) (*web.Answer[web.List[ServerUsage]], error) {
	return web.Reply(web.List[ServerUsage]{Items: a.usageOf(a.Servers.Statuses())})
}

// usageOf measures the servers that have a process on this machine. It measures all of them at the
// same time, because measurements that wait for each other share one list of the processes: one
// after the other, 200 servers took 20 s.
func (a *API) usageOf(servers []core.ServerStatus) []ServerUsage {
	measured := make([]*ServerUsage, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		if s.PID == 0 && len(s.Instances) == 0 {
			continue
		}
		all.Go(func() {
			if u, err := a.Usage(s.ID); err == nil {
				measured[i] = &ServerUsage{Server: s.ID, RSS: u.RSS, CPU: u.CPU, Processes: len(u.Tree)}
			}
		})
	}
	all.Wait()
	list := []ServerUsage{}
	for _, u := range measured {
		if u != nil {
			list = append(list, *u)
		}
	}
	return list
}
