package shim

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// pending is a request that has no answer yet.
type pending struct {
	stop context.CancelFunc
	sent bool // to the daemon, or about to be; guarded by Shim.mu
}

// begin runs a request beside the others. One beyond maxInFlight waits for its turn, and
// the messages behind it do not wait with it: an answer of the client or a cancellation
// among them may be what the requests in flight are waiting for.
func (s *Shim) begin(ctx context.Context, m message) {
	id := string(wire.Bytes(m.raw, m.env.ID))
	requestCtx, stop := context.WithCancel(ctx)
	p := &pending{stop: stop}
	s.mu.Lock()
	if s.count == maxPending || s.count > 0 && s.bytes+len(m.raw) > maxPendingBytes {
		s.mu.Unlock()
		stop()
		s.fail(m, wire.CodeInternal, "cannot take the request: too many requests wait for an answer. Send it again when some of them are answered")
		return
	}
	s.modern = s.modern || m.modern
	s.pending[id] = p
	s.count++
	s.bytes += len(m.raw)
	s.mu.Unlock()
	s.running.Go(func() {
		defer s.end(id, p, len(m.raw))
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
			s.request(requestCtx, m)
		}
	})
}

func (s *Shim) end(id string, p *pending, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[id] == p {
		delete(s.pending, id)
	}
	s.count--
	s.bytes -= size
	p.stop()
}

// cancelled ends the request that a notifications/cancelled names, and reports whether
// that is all there is to do. It is not for a request of the legacy era that the daemon
// has: the daemon cancels it and has to be told.
func (s *Shim) cancelled(m message) bool {
	legacy := s.session.open()
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pending[string(wire.Bytes(m.params, m.parts.RequestID))]
	if p == nil || p.sent && legacy {
		return !legacy
	}
	p.stop() // in the modern era closing the response is the cancellation
	return true
}
