package bridge

import (
	"bufio"
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
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeGateway is a Gateway that answers with a function and records the calls.
type fakeGateway struct {
	answer func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)

	mu    sync.Mutex
	seen  []*core.Call
	asked []*core.Call
}

func (c *fakeGateway) Call(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	c.mu.Lock()
	c.seen = append(c.seen, call)
	c.mu.Unlock()
	if call.Server == "" {
		return core.Reply{}, core.Errorf(core.CodeNotFound, "there is no tool named %q", call.PublicName)
	}
	if c.answer == nil {
		return core.Reply{Result: json.RawMessage(`{"content":[]}`)}, nil
	}
	return c.answer(ctx, call, sink)
}

// RecordNotification implements Gateway.
func (c *fakeGateway) RecordNotification(*core.Call) {}

// Ask implements Gateway.
func (c *fakeGateway) Ask(ctx context.Context, cause *core.Call, method string, params json.RawMessage, sink core.ServerMessageHandler) (core.Reply, error) {
	c.mu.Lock()
	c.asked = append(c.asked, &core.Call{FromServer: true, Server: cause.Server, Client: cause.Client, Method: method, Params: params})
	c.mu.Unlock()
	return sink.Ask(ctx, method, params)
}

func (c *fakeGateway) last() *core.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 {
		return nil
	}
	return c.seen[len(c.seen)-1]
}

// requests returns the requests that it has received, one a line.
func (c *fakeGateway) requests() (lines string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.seen {
		lines += strings.TrimSuffix(call.Method+" "+call.Name+" "+call.Account, " ") + "\n"
	}
	return lines
}

// answerLocally answers the calls that Drawbridge answers itself, and names the tool and the server
// of all others.
func answerLocally(ctx context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
	if c.Local != nil {
		return c.Local(ctx), nil
	}
	return core.Reply{Result: textReply("%s of %s", c.Name, c.Server)}, nil
}

// fakeLister is a Lister that calls do instead of waiting.
type fakeLister struct{ do func() }

func (w *fakeLister) WaitListed(context.Context, string) {
	if w.do != nil {
		w.do()
	}
}

// fixture is a bridge behind a real HTTP server.
type fixture struct {
	*testing.T
	registry *registry.Registry
	bridge   *Bridge
	srv      *httptest.Server
	gateway  *fakeGateway
	lister   *fakeLister
}

func newFixture(t *testing.T, answer func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error), options ...func(*Options)) *fixture {
	t.Helper()
	s := &fixture{T: t, registry: registry.New(registry.Options{}), gateway: &fakeGateway{answer: answer}, lister: &fakeLister{}}
	s.registry.Configure(registry.Prefixed, []registry.Server{{ID: "files"}, {ID: "math"}})
	s.registry.Set("files", "files", filesCatalog())
	s.registry.Set("math", "math", mathCatalog())
	o := Options{Registry: s.registry, Gateway: s.gateway, Lister: s.lister, Version: "1.2.3"}
	for _, f := range options {
		f(&o)
	}
	s.serve(o)
	return s
}

func (s *fixture) serve(o Options) {
	s.bridge = New(o)
	s.registry.OnChange(s.bridge.ListChanged)
	s.srv = httptest.NewServer(s.bridge)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { _ = s.bridge.Run(ctx); close(done) }()
	s.Cleanup(func() {
		cancel()
		<-done
		http.DefaultClient.CloseIdleConnections()
		s.srv.Close()
	})
}

func filesCatalog() *core.Catalog {
	return &core.Catalog{
		Tools: []core.Item{
			{Name: "read", Raw: json.RawMessage(`{"name":"read","inputSchema":{"type":"object"},"vendor":9007199254740993}`)},
			{Name: "marked", Raw: json.RawMessage(`{"name":"marked","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}`)},
		},
		Prompts:      []core.Item{{Name: "ask", Raw: json.RawMessage(`{"name":"ask"}`)}},
		Resources:    []core.Item{{Name: "file:///ünï", Raw: json.RawMessage(`{"uri":"file:///ünï","name":"u"}`)}},
		Templates:    []core.Item{{Name: "file:///t/{id}", Raw: json.RawMessage(`{"uriTemplate":"file:///t/{id}","name":"t"}`)}},
		Capabilities: json.RawMessage(`{"tools":{},"prompts":{},"resources":{"subscribe":true},"completions":{},"experimental":{"x":{"y":1}}}`),
		Instructions: "Read before you write.",
	}
}

func mathCatalog() *core.Catalog {
	return &core.Catalog{
		Tools:        []core.Item{{Name: "add", Raw: json.RawMessage(`{"name":"add","inputSchema":{"type":"object"}}`)}},
		Capabilities: json.RawMessage(`{"tools":{}}`),
		Instructions: "Numbers only.",
	}
}

func (s *fixture) newRequest(ctx context.Context, method, path, body string, headers ...string) *http.Request {
	s.Helper()
	req, err := http.NewRequestWithContext(ctx, method, s.srv.URL+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	return req
}

func (s *fixture) request(method, path, body string, headers ...string) *http.Response {
	s.Helper()
	resp, err := s.srv.Client().Do(s.newRequest(s.Context(), method, path, body, headers...))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (s *fixture) post(path, body string, headers ...string) *http.Response {
	s.Helper()
	return s.request(http.MethodPost, path, body, headers...)
}

// modern sends a modern request with the required headers.
func (s *fixture) modern(path, method, name, params string, headers ...string) *http.Response {
	s.Helper()
	return s.modernAs(`{}`, path, method, name, params, headers...)
}

// modernAs is modern for a client with capabilities.
func (s *fixture) modernAs(capabilities, path, method, name, params string, headers ...string) *http.Response {
	s.Helper()
	h := []string{versionHeader, core.ModernVersion, methodHeader, method}
	if name != "" {
		h = append(h, nameHeader, name)
	}
	return s.post(path, modernBodyAs(capabilities, method, params), append(h, headers...)...)
}

// modernBody returns a request with the id "m-1" and the required _meta.
func modernBody(method, params string) string { return modernBodyAs(`{}`, method, params) }

// modernBodyAs is modernBody for a client with capabilities.
func modernBodyAs(capabilities, method, params string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `,"io.modelcontextprotocol/clientInfo":{"name":"probe","version":"9"}}`
	if params != "" {
		meta = params + "," + meta
	}
	return `{"jsonrpc":"2.0","id":"m-1","method":"` + method + `","params":{` + meta + `}}`
}

// openSession opens a legacy session and returns its headers for later requests.
func (s *fixture) openSession(path, capabilities string, headers ...string) []string {
	s.Helper()
	resp := s.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":{"name":"probe","version":"9"}}}`, headers...)
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body)
		s.Fatalf("initialize: %s: %s", resp.Status, body)
	}
	id := resp.Header.Get(sessionHeader)
	messages(s, resp)
	h := append([]string{sessionHeader, id, versionHeader, "2025-11-25"}, headers...)
	if resp := s.post(path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h...); resp.StatusCode != http.StatusAccepted {
		s.Fatalf("initialized: %s", resp.Status)
	}
	return h
}

// messages returns the JSON-RPC messages of a response, which is a JSON document or a stream.
func messages(t testing.TB, resp *http.Response) []string {
	t.Helper()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return []string{string(body)}
	}
	var list []string
	for m := range events(resp.Body) {
		list = append(list, m)
	}
	return list
}

// events returns the data of server-sent events.
func events(r io.Reader) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		lines := bufio.NewReader(r)
		for {
			line, err := lines.ReadString('\n')
			if data, ok := strings.CutPrefix(line, "data: "); ok && !yield(strings.TrimSuffix(data, "\n")) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}

func onlyMessage(t testing.TB, resp *http.Response) string {
	t.Helper()
	list := messages(t, resp)
	require.Len(t, list, 1)
	return list[0]
}

func checkEqual(t testing.TB, what, got, want string) {
	t.Helper()
	assert.Equal(t, want, got, what)
}

func textReply(format string, args ...any) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, fmt.Sprintf(format, args...)))
}

// postInBackground posts a request to /mcp, and returns a function that waits for the only message
// of the response.
func (s *fixture) postInBackground(body string, headers ...string) func() string {
	s.Helper()
	req := s.newRequest(s.Context(), http.MethodPost, "/mcp", body, headers...)
	responses, failed := make(chan *http.Response, 1), make(chan error, 1)
	go func() {
		if resp, err := s.srv.Client().Do(req); err != nil {
			failed <- err
		} else {
			responses <- resp
		}
	}()
	return func() string {
		s.Helper()
		select {
		case resp := <-responses:
			defer func() { _ = resp.Body.Close() }()
			return onlyMessage(s, resp)
		case err := <-failed:
			s.Fatal(err)
		case <-time.After(time.Minute):
			s.Fatal("no response")
		}
		panic("unreachable")
	}
}

// postAndDisconnect posts a call and disconnects when ctx is done.
func (s *fixture) postAndDisconnect(ctx context.Context, body string, headers ...string) {
	s.Helper()
	if resp, err := s.srv.Client().Do(s.newRequest(ctx, http.MethodPost, "/mcp", body, headers...)); err == nil {
		_ = resp.Body.Close()
	}
}
