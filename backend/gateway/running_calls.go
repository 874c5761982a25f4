package gateway

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// runningCalls holds the calls that have begun and not ended.
type runningCalls struct {
	mu    sync.Mutex // guards the fields below
	calls map[int64]*runningCall
	// changed is closed when a call ends; nil unless Drain is running
	changed chan struct{}
}

type runningCall struct {
	*core.Call
	sent bool       // to a server
	task *core.Task // at the start of the call
}

func (r *runningCalls) add(call *core.Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = make(map[int64]*runningCall)
	}
	r.calls[call.ID] = &runningCall{Call: call, task: call.Task}
}

func (r *runningCalls) remove(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.calls, id)
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// markSent marks a call as sent to its server.
func (r *runningCalls) markSent(id int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[id].sent = true
}

// RefuseCalls refuses all calls that begin from now on.
func (g *Gateway) RefuseCalls() { g.stopping.Store(true) }

// Drain waits until the calls that were sent to servers before Drain was called have ended, or
// until ctx is done. It does not wait for calls that wait for the user or for a server. Only one
// goroutine may call Drain at a time.
func (g *Gateway) Drain(ctx context.Context) {
	r := &g.running
	r.mu.Lock()
	defer r.mu.Unlock()
	last := slices.Collect(maps.Keys(r.calls))
	last = slices.DeleteFunc(last, func(id int64) bool { return !r.calls[id].sent })
	for slices.ContainsFunc(last, func(id int64) bool { return r.calls[id] != nil }) {
		changed := make(chan struct{})
		r.changed = changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			r.mu.Lock()
			return
		}
		r.mu.Lock()
	}
}

// Running returns the calls that have begun and not ended, newest first. Only the fields that are
// known at the start of a call are set, and no payloads.
func (g *Gateway) Running() []core.Call {
	g.running.mu.Lock()
	defer g.running.mu.Unlock()
	list := make([]core.Call, 0, len(g.running.calls))
	for _, c := range g.running.calls {
		list = append(list, c.snapshot())
	}
	slices.SortFunc(list, func(x, y core.Call) int { return cmp.Compare(y.ID, x.ID) })
	return list
}

// RunningCall returns the running call with the id, as Running does.
func (g *Gateway) RunningCall(id int64) (core.Call, bool) {
	g.running.mu.Lock()
	defer g.running.mu.Unlock()
	c, ok := g.running.calls[id]
	if !ok {
		return core.Call{}, false
	}
	return c.snapshot(), true
}

func (c *runningCall) snapshot() core.Call {
	copied := startSnapshot(c.Call)
	copied.Task = c.task
	return copied
}

// startSnapshot copies the fields that do not change after a call has begun. The other fields may
// be written concurrently by the owner of the call.
func startSnapshot(c *core.Call) core.Call {
	return core.Call{
		ID: c.ID, At: c.At, Client: c.Client, Session: c.Session, Shim: c.Shim, Workspace: c.Workspace, Account: c.Account, Era: c.Era,
		FromServer: c.FromServer, Server: c.Server, Method: c.Method, Name: c.Name, PublicName: c.PublicName,
		BytesIn: c.BytesIn, TraceID: c.TraceID, SpanID: c.SpanID, Protocol: c.Protocol,
	}
}
