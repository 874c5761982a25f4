package wire

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The trace contains the status, the headers and the non-message content of a remote server, but no
// values of configured headers and of headers whose names indicate a secret.
func TestRemoteHTTPTraceIsRedacted(t *testing.T) {
	d := &sessionLosingServer{refuse: refusal(404, "", "")}
	down := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "tools/call") {
			w.Header().Set("Set-Cookie", "sid=hush")
			w.Header().Set("X-Session", "hush")
			w.Header().Set("X-Request-Id", "r-1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "upstream is being deployed")
			close(down)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		d.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var mu sync.Mutex
	var seen []string
	r := openRemote(t, RemoteOptions{URL: server.URL + "/mcp?key=hush", Header: http.Header{"X-Tenant": {"hush"}},
		OnMessage: func(sent bool, http string, text []byte) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, map[bool]string{true: "> ", false: "< "}[sent]+http+"\n"+string(text))
		}})
	_, err := r.Call(t.Context(), "tools/call", []byte(`{}`), core.Span{}, nil)
	assert.Error(t, err, "no error")
	<-down
	r.fail(io.EOF) // no DELETE at the end
	_ = r.Close(t.Context())
	mu.Lock()
	defer mu.Unlock()
	all := strings.Join(seen, "\n")
	for _, want := range []string{
		"> POST /mcp\n", "X-Tenant: [redacted]\n", `"method":"initialize"`, "< HTTP 200 OK\n", "Mcp-Session-Id: [redacted]", `"protocolVersion"`,
		"Mcp-Protocol-Version: 2025-11-25\n", "< HTTP 503 Service Unavailable\n", "Set-Cookie: [redacted]\n", "X-Request-Id: r-1", "upstream is being deployed",
	} {
		assert.Contains(t, all, want)
	}
	assert.NotContains(t, all, "hush", "a secret is shown")
	assert.NotContains(t, all, "s1\n", "a secret is shown")
}

// A message of a stream is traced once.
func TestStreamedReplyIsTracedOnce(t *testing.T) {
	d := &sessionLosingServer{refuse: refusal(404, "", ""), call: refusal(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"once\":1}}\n\n")}
	shown := 0
	r := d.open(t, RemoteOptions{OnMessage: func(_ bool, _ string, text []byte) { shown += strings.Count(string(text), "once") }})
	_, err := r.Call(t.Context(), "tools/call", []byte(`{}`), core.Span{}, nil)
	assert.Truef(t, err == nil && shown == 1, "shown %d times, %v", shown, err)
}

// If there is no response, the trace contains the reason, without the address.
func TestUnansweredHTTPRequestIsTraced(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	var last string
	r, err := NewRemote(RemoteOptions{Server: "s", URL: address + "/mcp?key=hush", OnMessage: func(_ bool, http string, _ []byte) { last = http }})
	require.NoError(t, err)
	_, _ = r.Call(t.Context(), "initialize", []byte(`{}`), core.Span{}, nil)
	assert.Truef(t, strings.HasPrefix(last, "no response: ") && !strings.Contains(last, "hush"), "%q", last)
}
