package process

import "time"

// Usage is the resource usage of a process tree.
type Usage struct {
	RSS  int64   `json:"rssBytes"`   // resident memory in bytes, sum over the tree; shared pages count more than once
	CPU  float64 `json:"cpuPercent"` // of one core, since the previous Usage, or since the start
	Tree []Proc  `json:"tree"`       // the direct child first, then sorted by pid
}

// Proc is one process of a tree.
type Proc struct {
	PID  int    `json:"pid"`
	PPID int    `json:"ppid"`
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // path of the executable; "" if unreadable
	RSS  int64  `json:"rssBytes"`
}

// sample returns the CPU usage since the last sample in percent of one core. The time of
// processes that exited in between is lost, so a negative difference counts as 0.
func (p *Process) sample(cpu time.Duration, now time.Time) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	used, passed := cpu-p.lastCPU, now.Sub(p.lastAt)
	p.lastCPU, p.lastAt = cpu, now
	if passed <= 0 || used < 0 {
		return 0
	}
	return 100 * float64(used) / float64(passed)
}
