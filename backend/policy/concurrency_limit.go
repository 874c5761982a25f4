package policy

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// slots limits the concurrent calls of a server. Further calls wait in a queue. A nil *slots
// imposes no limit.
type slots struct {
	server  string
	sem     chan struct{}
	queue   int64
	waiting atomic.Int64
	refused atomic.Int64
}

func newSlots(server string, c config.Concurrency) *slots {
	if c.Max <= 0 {
		return nil
	}
	return &slots{server: server, sem: make(chan struct{}, c.Max), queue: int64(c.Queue)}
}

// acquire acquires a slot for a call. It waits for at most the call's timeout. It refuses the call
// if the queue is full, which does not count as a failure of the server.
func (s *slots) acquire(ctx context.Context, call *core.Call, plan *Plan) error {
	if s == nil || strings.HasPrefix(call.Method, "tasks/") { // tasks/cancel must not wait for tasks/result
		return nil
	}
	select {
	case s.sem <- struct{}{}:
		plan.holdsSlot = true
		return nil
	default:
	}
	if s.waiting.Add(1) > s.queue {
		s.waiting.Add(-1)
		return s.refuse("the queue of server %q is full (%s in flight)", core.Plural(cap(s.sem), "call"))
	}
	defer s.waiting.Add(-1)
	began := time.Now()
	defer func() { call.Queued += time.Since(began) }()
	limit := time.NewTimer(plan.Timeout)
	defer limit.Stop()
	select {
	case s.sem <- struct{}{}:
		plan.holdsSlot = true
		return nil
	case <-limit.C:
		return s.refuse("no slot became free on server %q within %s", plan.Timeout)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slots) refuse(format string, about any) error {
	s.refused.Add(1)
	e := core.Errorf(core.CodeRejected, format, s.server, about)
	e.Hint, e.Retriable = "Try again when fewer calls are in flight, or raise concurrency in the server's configuration.", true
	return e
}

// releaseSlot releases the slot of the call, if it has one.
func (plan *Plan) releaseSlot() {
	if plan.holdsSlot {
		plan.holdsSlot = false
		<-plan.server.slots.sem
	}
}
