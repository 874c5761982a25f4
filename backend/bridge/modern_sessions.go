package bridge

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

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

// sessionID returns the id of the session of a request.
func (m *modernSessions) sessionID(rq *request, now time.Time) string {
	return m.find(rq, false, now)
}

// begin starts a new session.
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
