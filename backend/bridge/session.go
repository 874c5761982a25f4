package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
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
	capabilities       json.RawMessage // raw capabilities of the client; may be nil
	parsedCapabilities clientCapabilities
	listener           *listener
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

// maxCancelReason is the number of characters of a client's reason that the server receives.
const maxCancelReason = 1000

// cancelCall cancels the call with the raw id, for the raw reason of the client if it gave one.
func (s *session) cancelCall(rawID, rawReason []byte) {
	s.mu.Lock()
	cancel, ok := s.calls[idKey(rawID)]
	s.mu.Unlock()
	if ok {
		cause := *errClientCancelled
		if reason, given := wire.Unquote(rawReason); given && reason != "" {
			reason = core.Shorten(reason, maxCancelReason)
			cause.Message += ": " + reason
			cause.Cause = wire.ReasonOfClient(reason)
		}
		cancel(&cause)
	}
}

// folder returns the folder that the client has reported last, or else the given one.
func (s *session) folder(otherwise string) string { return cmp.Or(s.roots.get(), otherwise) }

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

// deliverResponse passes a response of the client to the request that waits for it. Late responses
// are dropped.
func (s *session) deliverResponse(m *message) {
	id, _ := wire.Unquote(m.id())
	s.mu.Lock()
	ch, waiting := s.pendingRequests[id]
	delete(s.pendingRequests, id)
	s.mu.Unlock()
	if waiting {
		ch <- core.Reply{Result: wire.Bytes(m.body, m.env.Result), Error: wire.Bytes(m.body, m.env.Error)}
	}
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
	b.background.run(func() {
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
			b.endSession(s, "its shim has exited")
		}
	})
}

// sessionTable holds the legacy sessions. Lock order: sessionTable.mu before session.mu.
type sessionTable struct {
	maxPerToken int

	mu           sync.Mutex
	byID         map[string]*session
	countByToken map[string]int
}

func newSessionTable(maxPerToken int) *sessionTable {
	return &sessionTable{maxPerToken: maxPerToken, byID: map[string]*session{}, countByToken: map[string]int{}}
}

// acquire returns the session of a request and marks it as in use until release. A session of
// another token or another endpoint is not found.
func (t *sessionTable) acquire(id, token, endpoint string, now time.Time) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.find(id, token, endpoint)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	s.activeRequests++
	s.lastUsed = now
	s.mu.Unlock()
	return s
}

func (t *sessionTable) find(id, token, endpoint string) *session {
	s := t.byID[id]
	if s == nil || s.token != token || s.endpoint != endpoint {
		return nil
	}
	return s
}

// client returns the client of a session, or the zero Client if there is no such session.
func (t *sessionTable) client(id string) core.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.byID[id]; s != nil {
		return s.client
	}
	return core.Client{}
}

// add adds a session. If its client has too many, the longest idle one is removed and returned;
// if none is idle, ok is false.
func (t *sessionTable) add(s *session) (evicted *session, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.countByToken[s.token] >= t.maxPerToken {
		if evicted = t.longestIdle(s.token); evicted == nil {
			return nil, false
		}
		t.remove(evicted)
	}
	t.byID[s.id] = s
	t.countByToken[s.token]++
	return evicted, true
}

// full reports whether add would refuse a session of this token now.
func (t *sessionTable) full(token string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.countByToken[token] >= t.maxPerToken && t.longestIdle(token) == nil
}

// longestIdle must be called with t.mu held.
func (t *sessionTable) longestIdle(token string) (longest *session) {
	var since time.Time
	for _, s := range t.byID {
		if s.token != token {
			continue
		}
		if used, idle := s.idleSince(); idle && (longest == nil || used.Before(since)) {
			longest, since = s, used
		}
	}
	return longest
}

// idleSince returns the time of the last use; idle is false while the session is in use.
func (s *session) idleSince() (used time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastUsed, s.activeRequests == 0 && len(s.calls) == 0
}

// remove must be called with t.mu held.
func (t *sessionTable) remove(s *session) {
	delete(t.byID, s.id)
	if t.countByToken[s.token]--; t.countByToken[s.token] <= 0 {
		delete(t.countByToken, s.token)
	}
}

// removeByID removes and returns a session, or returns nil.
func (t *sessionTable) removeByID(id, token, endpoint string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.find(id, token, endpoint)
	if s != nil {
		t.remove(s)
	}
	return s
}

// removeIdle removes and returns the sessions that were last used before limit.
func (t *sessionTable) removeIdle(limit time.Time) []*session {
	return t.removeWhere(func(s *session) bool {
		used, idle := s.idleSince()
		return idle && used.Before(limit)
	})
}

func (t *sessionTable) hasShim(token, shim string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.byID {
		if s.token == token && s.shim == shim {
			return true
		}
	}
	return false
}

func (t *sessionTable) removeAll() []*session {
	return t.removeWhere(func(*session) bool { return true })
}

func (t *sessionTable) removeWhere(want func(*session) bool) []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*session
	for _, s := range t.byID {
		if want(s) {
			list = append(list, s)
			t.remove(s)
		}
	}
	return list
}

func (t *sessionTable) snapshot() []Session {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]Session, 0, len(t.byID))
	for _, s := range t.byID {
		s.mu.Lock()
		list = append(list, Session{
			ID: s.id, Client: s.client, Endpoint: s.endpoint, Version: s.version, LastUsed: s.lastUsed, InFlight: len(s.calls),
			Peer: Peer{Era: core.Legacy, Capabilities: s.capabilities},
		})
		s.mu.Unlock()
	}
	return list
}

// modernSessions infers the sessions of modern clients, which send none, so that the history can
// group their calls. A session is what one client does in one folder, with pauses shorter than the
// idle timeout of a legacy session. server/discover starts a new one: a client sends it when it
// connects. Two processes of a client are told apart by their shims or their connections.
type modernSessions struct {
	idle time.Duration

	mu    sync.Mutex
	byKey map[modernSessionKey]*modernSession
}

// modernSessionKey has an empty connection for the newest session of a client.
type modernSessionKey struct {
	client                                core.Client
	endpoint, shim, workspace, connection string
}

type modernSession struct {
	id       string
	lastUsed time.Time
}

// maxModernSessions bounds the number of keys: clients choose most parts of a key.
const maxModernSessions = 1024

func newModernSessions(idle time.Duration) *modernSessions {
	return &modernSessions{idle: idle, byKey: map[modernSessionKey]*modernSession{}}
}

func (m *modernSessions) sessionID(rq *request, now time.Time) string {
	return m.find(rq, false, now)
}

func (m *modernSessions) begin(rq *request, now time.Time) { m.find(rq, true, now) }

func (m *modernSessions) find(rq *request, begin bool, now time.Time) string {
	newest := modernSessionKey{client: rq.client, endpoint: rq.endpoint.path, shim: rq.shim, workspace: rq.workspace}
	key := newest
	key.connection = rq.connection
	m.mu.Lock()
	defer m.mu.Unlock()
	ended := func(s *modernSession) bool { return s == nil || now.Sub(s.lastUsed) >= m.idle }
	s := m.byKey[key]
	if ended(s) {
		s = m.byKey[newest]
	}
	if begin || ended(s) {
		s = &modernSession{id: rand.Text()}
		m.set(newest, s, now)
	}
	s.lastUsed = now
	if m.byKey[key] != s {
		m.set(key, s, now)
	}
	return s.id
}

// set must be called with mu held. If there are too many keys, it removes those of idle sessions,
// or those of the session that was used longest ago.
func (m *modernSessions) set(key modernSessionKey, s *modernSession, now time.Time) {
	if _, known := m.byKey[key]; !known && len(m.byKey) >= maxModernSessions {
		limit := now.Add(-m.idle)
		oldest := now
		for _, other := range m.byKey {
			if other != s && other.lastUsed.Before(oldest) {
				oldest = other.lastUsed
			}
		}
		if oldest.After(limit) {
			limit = oldest
		}
		for k, other := range m.byKey {
			if other != s && !other.lastUsed.After(limit) {
				delete(m.byKey, k)
			}
		}
	}
	m.byKey[key] = s
}
