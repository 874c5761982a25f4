package bridge

import (
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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

// hasShim reports whether the shim has a session.
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

func (t *sessionTable) removeEndpoint(path string) []*session {
	return t.removeWhere(func(s *session) bool { return s.endpoint == path })
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
			Client: s.client, Endpoint: s.endpoint, Version: s.version, LastUsed: s.lastUsed, InFlight: len(s.calls),
			Peer: Peer{Era: core.Legacy, Capabilities: s.capabilities},
		})
		s.mu.Unlock()
	}
	return list
}
