package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// legacySSEServer is a server with the HTTP+SSE transport.
type legacySSEServer struct {
	mu     sync.Mutex
	out    chan string // events of the latest stream
	end    chan struct{}
	status int    // of the responses to POSTs; 0 is 202
	to     string // the endpoint that it announces; "" for none
}

func newLegacySSEServer() *legacySSEServer {
	return &legacySSEServer{out: make(chan string, 64), end: make(chan struct{}), to: "/messages?session=1"}
}

func (s *legacySSEServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Test") != "secret" {
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/mcp" {
		if r.Method != http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": hello\n\n")
		if s.to != "" {
			fmt.Fprintf(w, "event: endpoint\ndata: %s\n\n", s.to)
		}
		w.(http.Flusher).Flush()
		for {
			select {
			case ev := <-s.out:
				fmt.Fprint(w, ev)
				w.(http.Flusher).Flush()
			case <-s.end:
				return
			case <-r.Context().Done():
				return
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params json.RawMessage
	}
	_ = json.Unmarshal(body, &m)
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	if status != 0 && (m.Method == "tools/call" || m.Method == "ping") {
		w.WriteHeader(status)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	switch m.Method {
	case "initialize":
		s.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}`, m.ID)
	case "tools/list":
		s.say(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}`, m.ID)
	case "tools/call":
		s.say(`{"jsonrpc":"2.0","id":%s,"result":{"z":1.0,"n":9007199254740993,"echo":%s}}`, m.ID, m.Params)
	}
}

func (s *legacySSEServer) say(format string, args ...any) {
	s.out <- "event: message\ndata: " + strings.ReplaceAll(fmt.Sprintf(format, args...), `,"`, ",\ndata: \"") + "\n\n"
}

// An HTTP+SSE server works if its type is configured, and also if only its URL is.
func TestLegacySSEServerWorks(t *testing.T) {
	t.Parallel()
	for name, events := range map[string]bool{"by its type": true, "found out": false} {
		t.Run(name, func(t *testing.T) {
			s := newLegacySSEServer()
			c := connectRemote(t, s, "", func(o *Options) { o.Remote.LegacySSE = events })
			if len(c.Catalog().Tools) != 1 || c.Peer().Version != "2024-11-05" {
				t.Errorf("%+v, %s", c.Catalog(), c.Peer().Version)
			}
			reply := send(t, c, core.Legacy, `{"name":"echo","arguments":{"é":"x y"}}`)
			assert.Equal(t, `{"z":1.0,"n":9007199254740993,"echo":{"name":"echo","arguments":{"é":"x y"}}}`, string(reply.Result))
			s.mu.Lock()
			s.status = http.StatusInternalServerError
			s.mu.Unlock()
			assert.Contains(t, string(send(t, c, core.Legacy, `{"name":"echo"}`).Error), "HTTP status 500")
			close(s.end)
			<-c.Done()
		})
	}
}

func TestHostileLegacySSEServers(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		change func(*legacySSEServer)
		limit  time.Duration
		want   string
	}{
		"posts to strangers": {func(s *legacySSEServer) { s.to = "http://evil.test/steal" }, 30 * time.Second, "another origin"},
		"says nothing":       {func(s *legacySSEServer) { s.to = "" }, 200 * time.Millisecond, "deadline exceeded"},
	} {
		s := newLegacySSEServer()
		one.change(s)
		server := httptest.NewServer(s)
		ctx, cancel := context.WithTimeout(t.Context(), one.limit)
		_, err := Connect(ctx, Options{Server: "s", Remote: &Remote{URL: server.URL + "/mcp", Header: http.Header{"X-Test": {"secret"}}, LegacySSE: true}})
		assert.ErrorContains(t, err, one.want, name)
		cancel()
		server.CloseClientConnections()
		server.Close()
	}
	s := newLegacySSEServer()
	c := connectRemote(t, s, "", func(o *Options) { o.Remote.LegacySSE, o.MaxMessage = true, 1<<20 })
	go func() {
		for range 64 {
			select {
			case s.out <- "data: " + strings.Repeat("x", 1<<16) + "\n":
			case <-c.Done():
				return
			}
		}
	}()
	eventually.Receive(t, 20*time.Second, "an endless event does not end", c.Done())
	assert.Contains(t, c.Err().Error(), "larger than the limit")
}

// OnMessage sees the messages of an HTTP+SSE server in both directions, complete and in order.
func TestLegacySSEMessagesAreTraced(t *testing.T) {
	t.Parallel()
	s := newLegacySSEServer()
	var mu sync.Mutex
	var seen []string
	c := connectRemote(t, s, "", func(o *Options) {
		o.Remote.LegacySSE = true
		o.Remote.OnMessage = func(sent bool, _ string, text []byte) {
			mu.Lock()
			defer mu.Unlock()
			who := "server"
			if sent {
				who = "drawbridge"
			}
			seen = append(seen, who+" "+string(text))
		}
	})
	send(t, c, core.Legacy, `{"name":"echo","arguments":{"é":"x y"}}`)
	mu.Lock()
	defer mu.Unlock()
	var order []string
	for _, message := range seen {
		for _, part := range []string{"drawbridge {", `"method":"initialize"`, `"protocolVersion":"2024-11-05","cap`, `"method":"notifications/initialized"`, `"method":"tools/list"`, `"tools":[{"name":"echo"`, `"method":"tools/call"`, `"echo":{"name":"echo","arguments":{"é":"x y"}}}`} {
			if strings.Contains(message, part) {
				order = append(order, part)
			}
		}
	}
	want := []string{
		"drawbridge {", `"method":"initialize"`, `"protocolVersion":"2024-11-05","cap`, "drawbridge {", `"method":"notifications/initialized"`,
		"drawbridge {", `"method":"tools/list"`, `"tools":[{"name":"echo"`, "drawbridge {", `"method":"tools/call"`, `"echo":{"name":"echo","arguments":{"é":"x y"}}}`,
	}
	assert.Equalf(t, want, order, "seen was\n%s", strings.Join(seen, "\n"))
}
