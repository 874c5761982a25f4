package process

import "time"

// Usage is what a process and its tree take at one moment.
type Usage struct {
	RSS  int64   `json:"rssBytes"`   // resident memory, bytes, sum over the tree; shared pages count twice
	CPU  float64 `json:"cpuPercent"` // of one core, since the Usage before (the first: since the start)
	Tree []Proc  `json:"tree"`       // the direct child first, then by pid
}

// Proc is one process of a tree.
type Proc struct {
	PID  int    `json:"pid"`
	PPID int    `json:"ppid"`
	Name string `json:"name"`
	Path string `json:"path,omitempty"` // the executable; "" where that cannot be read
	RSS  int64  `json:"rssBytes"`
}

// sample turns the processor time of the whole tree into a share of the time
// since the last sample. Time of processes that ended in between is lost, so the
// figure never goes below zero.
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
