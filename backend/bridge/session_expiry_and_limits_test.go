package bridge

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// An expired session is refused like one that never existed, even with the right token, and a new
// session can be opened.
func TestSES01ExpiredSessionIsUnknownAndLeaksNothing(t *testing.T) {
	var clock atomic.Int64
	s := newFixture(t, nil, func(o *Options) {
		o.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	h := s.openSession("/mcp", `{}`, ClientHeader, "ann")
	never := append([]string{sessionHeader, "NEVERNEVERNEVER"}, h[2:]...)
	clock.Add(31 * 60)
	s.bridge.closeIdleSessions()
	for _, body := range []string{ping, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, `[` + ping + `]`} {
		late, unknown := s.post("/mcp", body, h...), s.post("/mcp", body, never...)
		a, _ := io.ReadAll(late.Body)
		b, _ := io.ReadAll(unknown.Body)
		if late.StatusCode != http.StatusNotFound || unknown.StatusCode != http.StatusNotFound || string(a) != string(b) {
			t.Errorf("expired: %s %s, unknown: %s %s", late.Status, a, unknown.Status, b)
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		assert.Equal(t, http.StatusNotFound, s.request(method, "/mcp", "", h...).StatusCode, method)
	}
	assert.Empty(t, s.gateway.seen, "reached the gateway")
	again := s.openSession("/mcp", `{}`, ClientHeader, "ann")
	if resp := s.post("/mcp", ping, again...); resp.StatusCode != http.StatusOK || again[1] == h[1] {
		t.Errorf("a new session: %s", resp.Status)
	}
}

// Clients open, use and end sessions concurrently with the removal of idle ones: no client gets
// more than the limit, and the counts return to zero.
func TestConcurrentSessionChangesKeepCount(t *testing.T) {
	const most = 4
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var clock atomic.Int64
	s := newFixture(t, nil, func(o *Options) {
		o.MaxSessions = most
		o.Now = func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	var wg sync.WaitGroup
	for i, who := range []string{"ann", "bob", "cyd"} {
		for k := range 3 {
			wg.Go(func() {
				r := rand.New(rand.NewPCG(seed, uint64(10*i+k)))
				var mine [][]string
				for range 40 {
					switch r.IntN(5) {
					case 0, 1:
						// The session may be evicted immediately, so only a notification is sent.
						resp := s.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"probe","version":"9"}}}`, ClientHeader, who)
						_ = messages(s, resp)
						mine = append(mine, []string{sessionHeader, resp.Header.Get(sessionHeader), ClientHeader, who})
					case 2:
						if len(mine) > 0 {
							s.request("DELETE", "/mcp", "", mine[r.IntN(len(mine))]...)
						}
					case 3:
						if len(mine) > 0 {
							s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`, mine[r.IntN(len(mine))]...)
						}
					default:
						clock.Add(int64(r.IntN(20 * 60)))
						s.bridge.closeIdleSessions()
					}
				}
			})
		}
	}
	wg.Wait()
	count := map[string]int{}
	for _, one := range s.bridge.Sessions() {
		if count[one.Client.Token]++; count[one.Client.Token] > most {
			t.Errorf("%s has more than %d sessions", one.Client.Token, most)
		}
		assert.Equal(t, 0, one.InFlight)
	}
	clock.Add(61 * 60)
	s.bridge.closeIdleSessions()
	if left := s.bridge.Sessions(); len(left) != 0 || len(s.bridge.sessions.countByToken) != 0 {
		t.Errorf("left: %+v, counted: %v", left, s.bridge.sessions.countByToken)
	}
}
