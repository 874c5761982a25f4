package supervisor

import (
	"context"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/web"
)

func (f *Feature) serverUsage(context.Context, *web.None) (*web.Answer[web.List[ServerUsage]], error) {
	return web.Reply(web.List[ServerUsage]{Items: f.UsageOf(f.Servers.Statuses())})
}

// UsageOf measures the servers that have a process on this machine. It measures all of them at the
// same time, because measurements that wait for each other share one list of the processes: one
// after the other, 200 servers took 20 s.
func (f *Feature) UsageOf(servers []core.ServerStatus) []ServerUsage {
	measured := make([]*ServerUsage, len(servers))
	var all sync.WaitGroup
	for i, s := range servers {
		if s.PID == 0 && len(s.Instances) == 0 {
			continue
		}
		all.Go(func() {
			if u, err := f.Dialer.Usage(s.ID); err == nil {
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

// ServerUsage is the resource usage of the whole process tree of one server.
type ServerUsage struct {
	Server    string  `json:"server"`
	RSS       int64   `json:"rssBytes"`
	CPU       float64 `json:"cpuPercent" doc:"Percentage of one core since the previous sample"`
	Processes int     `json:"processes"`
}
