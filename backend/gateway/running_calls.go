package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// runningCalls are the calls that have begun and not ended.
type runningCalls struct {
	mu    sync.Mutex // guards the fields below
	calls map[int64]*core.Call
	sent  map[int64]struct{} // those of them that were sent to a server
	// changed is closed when a call ends; nil when nobody drains.
	changed chan struct{}
}

func (r *runningCalls) add(call *core.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[int64]*core.Call)
	}
	r.calls[call.ID] = call
}

func (r *runningCalls) remove(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, id)
	delete(r.sent, id)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// send notes that a call is sent to its server.
func (r *runningCalls) send(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent == nil {
		r.sent = make(map[int64]struct{})
	}
	r.sent[id] = struct{}{}
}

// Drain waits until the calls that servers are working on now have ended, or until ctx ends.
// Calls that wait for the user or for a server are not waited for. Only one may drain at a time.
func (g *Gateway) Drain(ctx context.Context) {
	r := &g.running
	r.mu.Lock()
	last := slices.Collect(maps.Keys(r.sent))
	for slices.ContainsFunc(last, func(id int64) bool { _, ok := r.sent[id]; return ok }) {
		changed := make(chan struct{})
		r.changed = changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		r.mu.Lock()
	}
	r.mu.Unlock()
}

// Running returns the calls that have begun and not ended, the newest first, with what
// was known of each at its start and without payloads.
func (g *Gateway) Running() []core.Call {
	g.running.mu.Lock()
	defer g.running.mu.Unlock()
	list := make([]core.Call, 0, len(g.running.calls))
	for _, c := range g.running.calls {
		list = append(list, startSnapshot(c))
	}
	slices.SortFunc(list, func(x, y core.Call) int { return cmp.Compare(y.ID, x.ID) })
	return list
}

// RunningCall returns one of Running.
func (g *Gateway) RunningCall(id int64) (core.Call, bool) {
	g.running.mu.Lock()
	defer g.running.mu.Unlock()
	c, ok := g.running.calls[id]
	if !ok {
		return core.Call{}, false
	}
	return startSnapshot(c), true
}

// startSnapshot copies the fields that nobody changes once a call has begun: its owner goes
// on filling in the others meanwhile.
func startSnapshot(c *core.Call) core.Call {
	return core.Call{
		ID: c.ID, At: c.At, Client: c.Client, Session: c.Session, Shim: c.Shim, Workspace: c.Workspace, Era: c.Era,
		FromServer: c.FromServer, Server: c.Server, Method: c.Method, Name: c.Name, PublicName: c.PublicName,
		BytesIn: c.BytesIn, TraceID: c.TraceID, SpanID: c.SpanID, Protocol: c.Protocol,
	}
}
