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

// session is one legacy client between its initialize and its end. A call belongs
// to its session, not to its HTTP request: a connection that drops is no
// cancellation in this era.
type session struct {
	id           string
	token        string // the only one that may use it
	endpoint     string // the only address where it may be used
	shim         string // the stdio shim that opened it, or ""
	roots        clientRoots
	client       core.Client
	version      string          // the negotiated protocol version
	initialize   json.RawMessage // the raw params
	capabilities json.RawMessage // of the client, raw; may be nil
	can          clientCapabilities
	sdk          *mcp.ServerSession
	ctx          context.Context // the parent of its calls
	cancel       context.CancelCauseFunc

	level atomic.Pointer[string] // set by logging/setLevel

	mu    sync.Mutex
	used  time.Time
	busy  int // HTTP requests at this moment, open streams among them
	calls map[string]context.CancelCauseFunc
	asks  map[string]chan core.Reply
	asked int64
}

// defaultLevel is what a client hears of a server's log before it chooses. We ask
// servers for everything, so something must be held back.
const defaultLevel = "info"

func (s *session) logLevel() string {
	if l := s.level.Load(); l != nil {
		return *l
	}
	return defaultLevel
}

// release ends one HTTP request of the session; acquire of the table began it.
func (s *session) release(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
	s.used = now
}

// begin registers a call under its JSON-RPC id, so that the client can cancel it.
// It reports false when a call with that id is already under way.
func (s *session) begin(id string, cancel context.CancelCauseFunc) bool {
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

func (s *session) finish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// cancelled cancels the call with the raw id, if it is one of ours.
func (s *session) cancelled(rawID []byte) bool {
	s.mu.Lock()
	cancel, ok := s.calls[idKey(rawID)]
	s.mu.Unlock()
	if ok {
		cancel(errClientCancelled)
	}
	return ok
}

// idKey makes equal ids equal: strings are compared decoded.
func idKey(raw []byte) string {
	if text, ok := wire.Unquote(raw); ok {
		return `"` + text
	}
	return string(raw)
}

// registerRequest makes a request id of ours and the channel on which the answer will arrive.
// forget must be called with the id in the end.
func (s *session) registerRequest(nonce string) (id string, answer <-chan core.Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	id = nonce + "-" + strconv.FormatInt(s.asked, 10)
	ch := make(chan core.Reply, 1)
	if s.asks == nil {
		s.asks = map[string]chan core.Reply{}
	}
	s.asks[id] = ch
	return id, ch
}

func (s *session) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.asks, id)
}

// deliverResponse takes a response that a client POSTed, if its id is one that we made up;
// also when nobody waits for it any more, since the SDK must not see it.
func (s *session) deliverResponse(b *Bridge, m *message) bool {
	id, ok := wire.Unquote(m.id())
	if !ok || len(id) <= len(b.nonce) || id[:len(b.nonce)] != b.nonce {
		return false
	}
	s.mu.Lock()
	ch, waiting := s.asks[id]
	delete(s.asks, id)
	s.mu.Unlock()
	if waiting {
		ch <- core.Reply{Result: wire.Bytes(m.body, m.env.Result), Error: wire.Bytes(m.body, m.env.Error)}
	}
	return true
}
