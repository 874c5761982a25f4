package upstream

import (
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
)

// runningProcesses holds the local processes of each server, one for each connection. The zero
// value is ready to use.
type runningProcesses struct {
	mu       sync.Mutex
	byServer map[string][]localProcess
}

// localProcess is a process and the name of its launcher, or "".
type localProcess struct {
	*process.Process
	launcher string
}

func (r *runningProcesses) add(server string, p localProcess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byServer == nil {
		r.byServer = map[string][]localProcess{}
	}
	r.byServer[server] = append(r.byServer[server], p)
}

func (r *runningProcesses) remove(server string, p localProcess) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := slices.DeleteFunc(r.byServer[server], func(o localProcess) bool { return o == p })
	if len(left) == 0 {
		delete(r.byServer, server)
		return
	}
	r.byServer[server] = left
}

func (r *runningProcesses) get(server string) []localProcess {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.byServer[server])
}

// pids returns the local processes of a server.
func (d *Dialer) pids(server string) (list []int) {
	usage, err := d.Usage(server)
	if err != nil {
		return nil // it has none, or is exiting
	}
	for _, p := range usage.Tree {
		list = append(list, p.PID)
	}
	return list
}

// Usage returns the resource usage of all processes of a server. It returns an error if the
// server has no local process.
func (d *Dialer) Usage(server string) (process.Usage, error) {
	all := process.Usage{Tree: []process.Proc{}}
	found := false
	var failed error
	for _, p := range d.running.get(server) {
		u, err := p.Usage()
		if err != nil {
			failed = err // the process is exiting
			continue
		}
		found = true
		all.RSS += u.RSS
		all.CPU += u.CPU
		all.Tree = append(all.Tree, u.Tree...)
	}
	switch {
	case found:
		return all, nil
	case failed != nil:
		return process.Usage{}, failed
	}
	return process.Usage{}, core.Errorf(core.CodeUnavailable, "server %q has no process on this machine", server)
}

// Trees returns the process ids of each server that has processes on this machine.
func (d *Dialer) Trees() map[string][]int {
	d.running.mu.Lock()
	var names []string
	var list []*process.Process
	for server, all := range d.running.byServer {
		for _, p := range all {
			names, list = append(names, server), append(list, p.Process)
		}
	}
	d.running.mu.Unlock()
	trees := map[string][]int{}
	if len(list) == 0 {
		return trees
	}
	for i, pids := range process.TreePIDs(list) {
		trees[names[i]] = append(trees[names[i]], pids...)
	}
	return trees
}

// Idle reports whether no server has a process on this machine.
func (d *Dialer) Idle() bool {
	d.running.mu.Lock()
	defer d.running.mu.Unlock()
	return len(d.running.byServer) == 0
}
