package bridge

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	errSessionEnded    = core.Errorf(core.CodeCancelled, "the session ended")
	errClientCancelled = core.Errorf(core.CodeCancelled, "the client cancelled the call")
)

// session is the state of a legacy client from initialize to its end. Its calls are children of the
// session, not of their HTTP requests, because a dropped connection does not cancel a call in this
// era.
type session struct {
	id                 string
	token              string // the session is rejected for any other token
	endpoint           string // path; the session is rejected at any other endpoint
	shim               string // id of the stdio shim that opened it, or ""
	roots              clientRoots
	client             core.Client
	version            string          // the negotiated protocol version
	initialize         json.RawMessage // raw params of initialize
	capabilities       json.RawMessage // raw capabilities of the client; may be nil
	parsedCapabilities clientCapabilities
	sdk                *mcp.ServerSession
	ctx                context.Context // parent of the contexts of its calls
	cancel             context.CancelCauseFunc

	level atomic.Pointer[string] // set by logging/setLevel

	mu              sync.Mutex
	lastUsed        time.Time
	activeRequests  int // current HTTP requests, including open streams
	calls           map[string]context.CancelCauseFunc
	pendingRequests map[string]chan core.Reply
	lastRequestID   int64
}

// defaultLevel is the minimum level of log messages before the client sets one. Servers are asked
// for all levels, so the messages must be filtered here.
const defaultLevel = "info"

func (s *session) logLevel() string {
	if l := s.level.Load(); l != nil {
		return *l
	}
	return defaultLevel
}

// release ends an HTTP request that sessionTable.acquire has begun.
func (s *session) release(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.activeRequests--
	s.lastUsed = now
}

// beginCall registers a call under its JSON-RPC id, so that the client can cancel it. It returns
// false if a call with that id is in flight.
func (s *session) beginCall(id string, cancel context.CancelCauseFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.calls[id]; taken {
		return false
	}
	if s.calls == nil {
		s.calls = map[string]context.CancelCauseFunc{}
	}
	s.calls[id] = cancel
	return true
}

func (s *session) endCall(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// cancelCall cancels the call with the raw id. It returns false if there is no such call.
func (s *session) cancelCall(rawID []byte) bool {
	s.mu.Lock()
	cancel, ok := s.calls[idKey(rawID)]
	s.mu.Unlock()
	if ok {
		cancel(errClientCancelled)
	}
	return ok
}

// idKey returns a map key for an id: equal ids have equal keys, even if a string is escaped in
// different ways.
func idKey(raw []byte) string {
	if text, ok := wire.Unquote(raw); ok {
		return `"` + text
	}
	return string(raw)
}

// registerRequest returns a new request id and the channel that receives the client's response. The
// caller must call forgetRequest with the id.
func (s *session) registerRequest(nonce string) (id string, answer <-chan core.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastRequestID++
	id = nonce + "-" + strconv.FormatInt(s.lastRequestID, 10)
	ch := make(chan core.Reply, 1)
	if s.pendingRequests == nil {
		s.pendingRequests = map[string]chan core.Reply{}
	}
	s.pendingRequests[id] = ch
	return id, ch
}

func (s *session) forgetRequest(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pendingRequests, id)
}

// deliverResponse passes a response of the client to the request that waits for it. It returns
// false if the id was not made by registerRequest; such a response is for go-sdk. Late responses
// are dropped.
func (s *session) deliverResponse(b *Bridge, m *message) bool {
	id, ok := wire.Unquote(m.id())
	if !ok || len(id) <= len(b.nonce) || id[:len(b.nonce)] != b.nonce {
		return false
	}
	s.mu.Lock()
	ch, waiting := s.pendingRequests[id]
	delete(s.pendingRequests, id)
	s.mu.Unlock()
	if waiting {
		ch <- core.Reply{Result: wire.Bytes(m.body, m.env.Result), Error: wire.Bytes(m.body, m.env.Error)}
	}
	return true
}

// shimGrace is how long the stream of a shim may be disconnected before its sessions end. A running
// shim reconnects after half a second.
const shimGrace = 5 * time.Second

// notifyShimEnded calls ShimEnded, unless the shim has another session.
func (b *Bridge) notifyShimEnded(token, shim string) {
	if shim != "" && b.ShimEnded != nil && !b.sessions.hasShim(token, shim) {
		b.ShimEnded(token, shim)
	}
}

// handleShimDisconnect ends a session whose shim was killed. A shim holds a stream open while it
// runs; handleShimDisconnect is called when that stream ends, and waits shimGrace for a reconnect.
func (b *Bridge) handleShimDisconnect(s *session) {
	if s.shim == "" {
		return
	}
	b.runInBackground(func() {
		timer := time.NewTimer(shimGrace)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			return
		case <-b.lifetime.Done():
			return
		}
		if used, idle := s.idleSince(); idle && b.Now().Sub(used) >= shimGrace && b.sessions.removeByID(s.id, s.token, s.endpoint) != nil {
			b.endSession(s, "its shim is gone")
		}
	})
}
