package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An error about a lost session fails a ping, in either transport; an error about the ping itself
// does not.
func TestPingAnsweredByLostSessionFails(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter, id json.RawMessage){
		"400": func(w http.ResponseWriter, _ json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
		},
		"200": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32001,"message":"Session not found"}}`, id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lost, unknown atomic.Bool
			s := &scriptedCallServer{t: t}
			c := connectRemote(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodPost || !lost.Load() && !unknown.Load() {
					s.ServeHTTP(w, r)
					return
				}
				var m struct{ ID json.RawMessage }
				body, _ := io.ReadAll(r.Body)
				_ = json.Unmarshal(body, &m)
				if unknown.Load() {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}`, m.ID)
					return
				}
				refuse(w, m.ID)
			}), "", nil)
			unknown.Store(true)
			assert.NoError(t, c.Ping(t.Context()), "an error of its own is no sign of life")
			unknown.Store(false)
			lost.Store(true)
			assert.Error(t, c.Ping(t.Context()), "a lost session that cannot be replaced is a sign of life")
		})
	}
}

// The HTTP+SSE transport answers a request that could not be delivered itself. Such a response
// fails a ping as well.
func TestUndeliveredPingFails(t *testing.T) {
	s := newLegacySSEServer()
	c := connectRemote(t, s, "", func(o *Options) { o.Remote.LegacySSE = true })
	s.mu.Lock()
	s.status = http.StatusServiceUnavailable
	s.mu.Unlock()
	assert.Error(t, c.Ping(t.Context()), "503 is a sign of life")
}
