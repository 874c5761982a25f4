package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sessionLosingServer is a legacy server that can lose its sessions.
type sessionLosingServer struct {
	mu       sync.Mutex
	n        int
	session  string
	refuse   bool // it refuses to open new sessions
	tool     string
	sessions atomic.Int64
}

func (f *sessionLosingServer) forget(refuse bool, tool string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session, f.refuse, f.tool = "lost", refuse, tool
}

func (f *sessionLosingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
	}
	switch {
	case m.Method == "initialize" && !f.refuse && r.Header.Get("Mcp-Session-Id") == "":
		f.n++
		f.sessions.Add(1)
		f.session = fmt.Sprint("s", f.n)
		w.Header().Set("Mcp-Session-Id", f.session)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, m.ID)
	case r.Header.Get("Mcp-Session-Id") != f.session || m.Method == "initialize":
		w.WriteHeader(http.StatusNotFound)
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":%q,"inputSchema":{"type":"object"}}]}}`, m.ID, f.tool)
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"session":%q}}`, m.ID, f.session)
	}
}

// A lost session fails no call, however many are in flight, and the lists are read again.
func TestLostSessionIsReplacedAndCallsAreServed(t *testing.T) {
	t.Parallel()
	server := &sessionLosingServer{tool: "old"}
	changed := make(chan core.Kind, 16)
	c := connectRemote(t, server, "", func(o *Options) {
		o.Remote.Header = nil
		o.OnListChanged = func(k core.Kind) { changed <- k }
	})
	server.forget(false, "new")
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			reply, err := c.Send(ctx, &core.Call{Method: "tools/call"}, nil)
			assert.Truef(t, err == nil && string(reply.Result) == `{"session":"s2"}`, "%s, %v", reply.Result, err)
		})
	}
	calls.Wait()
	if n := server.sessions.Load(); n != 2 || c.Err() != nil {
		t.Errorf("%d sessions, connection %v", n, c.Err())
	}
	eventually.Receive(t, time.Minute, "the lists are not read again", changed)
	tools := c.Catalog().Tools
	assert.Truef(t, len(tools) == 1 && tools[0].Name == "new", "%+v", tools)
}

func TestUnreplaceableSessionEndsConnection(t *testing.T) {
	t.Parallel()
	server := &sessionLosingServer{tool: "old"}
	c := connectRemote(t, server, "", func(o *Options) { o.Remote.Header = nil })
	server.forget(true, "old")
	_, err := c.Send(t.Context(), &core.Call{Method: "tools/call"}, nil)
	assert.Equal(t, core.CodeUnavailable, core.CodeOf(err))
	<-c.Done()
	assert.Contains(t, c.Err().Error(), "lost the session")
}

// An interrupted stream is resumed at its last event, after the delay that the server requested.
func TestInterruptedStreamIsResumed(t *testing.T) {
	t.Parallel()
	var resumed []string
	var mu sync.Mutex
	server := &scriptedCallServer{t: t}
	var id string
	server.call = func(w http.ResponseWriter, call string) {
		id = call
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: e1\nretry: 60\ndata:\n\n")
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-Id")
		if r.Method != http.MethodGet || last == "" {
			server.ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		resumed = append(resumed, last)
		w.Header().Set("Content-Type", "text/event-stream")
		if len(resumed) == 1 {
			fmt.Fprint(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n")
			return
		}
		fmt.Fprintf(w, "id: e3\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"ok\":1}}\n\n", id)
	})
	c := connectRemote(t, h, "", nil)
	began := time.Now()
	reply, err := c.Send(t.Context(), &core.Call{Method: "tools/call"}, nil)
	require.NoError(t, err)
	require.Equal(t, `{"ok":1}`, string(reply.Result))
	assert.Truef(t, fmt.Sprint(resumed) == "[e1 e2]" && time.Since(began) >= 120*time.Millisecond, "resumed after %v in %s", resumed, time.Since(began))
}
