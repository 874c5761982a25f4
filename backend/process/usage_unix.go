//go:build linux || darwin

package process

import (
	"errors"
	"slices"
	"time"
)

// Usage measures the resource usage of the process tree. It returns an error after the process
// has exited.
func (p *Process) Usage() (Usage, error) {
	select {
	case <-p.done:
		return Usage{}, errors.New("cannot measure resource usage: the process has exited")
	default:
	}
	var u Usage
	var cpu time.Duration
	members := p.tree.members()
	slices.SortFunc(members, func(a, b processInfo) int {
		switch p.pid {
		case a.pid:
			return -1
		case b.pid:
			return 1
		}
		return a.pid - b.pid
	})
	for i := range members {
		m := &members[i]
		measure(m)
		u.RSS += m.rss
		cpu += m.cpu
		u.Tree = append(u.Tree, Proc{PID: m.pid, PPID: m.ppid, Name: m.name, Path: executableOf(m.pid), RSS: m.rss})
	}
	u.CPU = p.sample(cpu, time.Now())
	return u, nil
}
