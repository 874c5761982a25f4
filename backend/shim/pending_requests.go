package shim

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// cancellableRequest is a request without a response.
type cancellableRequest struct {
	stop    context.CancelFunc
	listens bool // it is answered only when the daemon stops
	sent    bool // sent to the daemon, or about to be; guarded by Shim.mu
}

// startRequest runs a request in a goroutine. If maxInFlight requests are in flight it waits for a
// slot there, so that later messages are not blocked: they may be responses or cancellations that
// the requests in flight wait for.
func (s *Shim) startRequest(ctx context.Context, m message) {
	id := string(wire.Bytes(m.raw, m.env.ID))
	requestCtx, stop := context.WithCancel(ctx)
	p := &cancellableRequest{stop: stop, listens: m.env.Method == "subscriptions/listen"}
	s.mu.Lock()
	if s.pendingCount == maxPending || s.pendingCount > 0 && s.pendingBytes+len(m.raw) > maxPendingBytes {
		s.mu.Unlock()
		stop()
		s.respondError(m, wire.CodeInternal, "cannot accept the request: too many requests are pending. Send it again when some of them have finished")
		return
	}
	s.modern = s.modern || m.modern
	s.pending[id] = p
	s.pendingCount++
	s.pendingBytes += len(m.raw)
	s.mu.Unlock()
	s.running.Go(func() {
		defer s.endRequest(id, p, len(m.raw))
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-requestCtx.Done():
			return
		}
		s.mu.Lock()
		p.sent = requestCtx.Err() == nil
		s.mu.Unlock()
		if p.sent {
			s.forwardRequest(requestCtx, m)
		}
	})
}

func (s *Shim) endRequest(id string, p *cancellableRequest, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] == p {
		delete(s.pending, id)
	}
	s.pendingCount--
	s.pendingBytes -= size
	p.stop()
}

// stopListening cancels the requests subscriptions/listen.
func (s *Shim) stopListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pending {
		if p.listens {
			p.stop()
		}
	}
}

// cancelRequest handles notifications/cancelled and reports whether it need not be forwarded. For a
// legacy request that was sent, it must be forwarded, because the daemon cancels the request.
func (s *Shim) cancelRequest(m message) bool {
	legacy := s.session.isOpen()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[string(wire.Bytes(m.params, m.spans.RequestID))]
	if p == nil || p.sent && legacy {
		return !legacy
	}
	p.stop() // closing the response cancels a modern request
	return true
}
