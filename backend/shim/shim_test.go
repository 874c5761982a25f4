package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// daemon is a real MCP endpoint, legacy or modern, which can lose its sessions as a restart does.
type daemon struct {
	*httptest.Server
	handler atomic.Pointer[http.Handler]
	modern  bool
	servers []*mcp.Server
}

func newDaemon(t *testing.T, modern bool) *daemon {
	d := &daemon{modern: modern}
	d.restart()
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		(*d.handler.Load()).ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		d.CloseClientConnections()
		for _, server := range d.servers {
			for session := range server.Sessions() {
				session.Close()
			}
		}
		d.Close()
	})
	return d
}

func (d *daemon) restart() {
	server := mcp.NewServer(&mcp.Implementation{Name: "daemon", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
		})
	server.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
	d.servers = append(d.servers, server)
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: d.modern, PropagateRequestCancellation: true})
	d.handler.Store(&h)
}

// testClient is the client's side of the shim.
type testClient struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
}

func start(t *testing.T, find func(context.Context, bool) (Address, error)) *testClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s, err := New(Options{In: inR, Out: outW, Find: find, ID: "test"})
	require.NoError(t, err)
	term := &testClient{t: t, in: inW, lines: make(chan string, 64), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { term.done <- s.Run(ctx); outW.Close() }()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		scanner := bufio.NewScanner(outR)
		scanner.Buffer(nil, 32<<20)
		for scanner.Scan() {
			term.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		inW.Close()
		cancel()
		<-ended
	})
	return term
}

func (d *daemon) find(context.Context, bool) (Address, error) {
	return Address{URL: d.URL, Token: "good"}, nil
}

func (term *testClient) send(format string, args ...any) {
	term.t.Helper()
	if _, err := fmt.Fprintf(term.in, format+"\n", args...); err != nil {
		term.t.Fatal(err)
	}
}

// expect returns the next line that contains want, and skips other lines.
func (term *testClient) expect(want string) string {
	term.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case line := <-term.lines:
			if strings.Contains(line, want) {
				return line
			}
		case <-deadline:
			term.t.Fatalf("no line with %q came", want)
		}
	}
}

const initializeLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

func (term *testClient) initialize() {
	term.t.Helper()
	term.send("%s", initializeLine)
	term.expect(`"protocolVersion"`)
	term.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func TestLegacyClientCallsThroughShim(t *testing.T) {
	term := start(t, newDaemon(t, false).find)
	term.initialize()
	term.send(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"greet","arguments":{"n":9007199254740993}}}`)
	require.Contains(t, term.expect(`"id":"a"`), `9007199254740993`)
}

// Clients could send batches until 2025-03-26. The bridge answers each message by itself.
func TestBatchOfOlderClientIsForwardedMessageByMessage(t *testing.T) {
	for revision, want := range map[string]string{"2025-03-26": `"id":"b"`, "2025-06-18": "one JSON-RPC message per line"} {
		term := start(t, newDaemon(t, false).find)
		term.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		term.expect(`"protocolVersion":"` + revision + `"`)
		term.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		term.send(`[{"jsonrpc":"2.0","method":"notifications/unknown"}, {"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"name":"greet","arguments":{}}}]`)
		term.expect(want)
	}
}

func TestModernClientCallsThroughShim(t *testing.T) {
	term := start(t, newDaemon(t, true).find)
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	term.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`)
	term.expect(`"greet"`)
	term.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"x":"y"},` + meta + `}}`)
	require.Contains(t, term.expect(`"id":2`), `\"x\"`)
	term.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait","arguments":{},` + meta + `}}`)
	term.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`)
	term.send(`{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{` + meta + `}}`)
	term.expect(`"id":4`)
}

func TestShimSurvivesDaemonRestart(t *testing.T) {
	d := newDaemon(t, false)
	term := start(t, d.find)
	term.initialize()
	term.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	term.expect(`"id":1`)
	d.restart()
	d.CloseClientConnections() // the stream ends, and a new session begins
	term.expect("notifications/tools/list_changed")
	term.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{}}}`)
	require.Contains(t, term.expect(`"id":2`), `"result"`)
}

func TestCallWithExpiredSessionIsRetriedInNewOne(t *testing.T) {
	d := newDaemon(t, false)
	term := start(t, d.find)
	term.initialize()
	d.restart() // the old stream stays open, so only the call detects the restart
	term.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{}}}`)
	require.Contains(t, term.expect(`"id":2`), `"result"`)
}

// A client continues after a failed handshake, or begins again, without knowing of sessions.
func TestShimOpensSessionsByItself(t *testing.T) {
	d := newDaemon(t, false)
	term := start(t, d.find)
	list := func(id int) string {
		term.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, id)
		return term.expect(fmt.Sprintf(`"id":%d`, id))
	}
	assert.Contains(t, list(1), "send initialize before any other request", "before initialize")
	ready := *d.handler.Load()
	var missing http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"there is no server"}}`)
	})
	d.handler.Store(&missing)
	term.send("%s", initializeLine)
	for _, line := range []string{term.expect(`"id":0`), list(2)} {
		assert.Contains(t, line, "there is no server", "while there is no server")
	}
	d.handler.Store(&ready)
	assert.Contains(t, list(3), "greet", "after a failed initialize")
	term.send("%s", strings.Replace(initializeLine, `"id":0`, `"id":4`, 1))
	assert.Contains(t, term.expect(`"id":4`), `"result"`, "second initialize")
	assert.Contains(t, list(5), "greet", "after the second initialize")
}

func TestShimWaitsForStartingDaemon(t *testing.T) {
	d := newDaemon(t, false)
	var asked atomic.Int32
	term := start(t, func(ctx context.Context, start bool) (Address, error) {
		if asked.Add(1) == 1 {
			return Address{URL: "http://127.0.0.1:1/mcp", Token: "good"}, nil // from a stale runtime file
		}
		return d.find(ctx, start)
	})
	term.initialize()
	require.True(t, asked.Load() >= 2, "the daemon was not looked for again")
}

func TestErrorsReachClientAsText(t *testing.T) {
	term := start(t, func(context.Context, bool) (Address, error) {
		return Address{}, &core.Error{Code: core.CodeUnavailable, Message: "Drawbridge does not start", Hint: "Run drawbridge serve to see why."}
	})
	term.send("%s", initializeLine)
	line := term.expect(`"error"`)
	require.Truef(t, strings.Contains(line, "Run drawbridge serve") && strings.Contains(line, `"id":0`), "got %s", line)
	term.send(`not json`)
	term.expect(`-32700`)
	term.send(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
	term.expect(`-32600`)
	term.send(`{"jsonrpc":"2.0","id":6,"method":"x","params":"x"}`)
	require.Contains(t, term.expect(`-32600`), `"id":6`)
	term.send(`{"jsonrpc":"2.0","id":5,"method":"x","params":{"a":1,"a":2}}`)
	require.Contains(t, term.expect(`-32602`), `"id":5`)
}

func TestRefusedTokenIsExplained(t *testing.T) {
	d := newDaemon(t, false)
	term := start(t, func(context.Context, bool) (Address, error) { return Address{URL: d.URL, Token: "bad"}, nil })
	term.send("%s", initializeLine)
	require.Contains(t, term.expect(`"error"`), "does not accept this client's access token")
}

func TestOversizedMessageIsRefusedNextOneWorks(t *testing.T) {
	term := start(t, newDaemon(t, false).find)
	go func() {
		fmt.Fprintf(term.in, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"%s"}}`+"\n", strings.Repeat("x", 17<<20))
		fmt.Fprintln(term.in, initializeLine)
	}()
	term.expect(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the request is larger than 4 MiB"}}`)
	term.expect(`"protocolVersion"`)
}

// The client would wait for the response until its own timeout.
func TestOversizedRequestIsAnsweredUnderItsID(t *testing.T) {
	term := start(t, newDaemon(t, false).find)
	for name, c := range map[string]struct {
		format, want string
		size         int
	}{
		"id first":             {`{"jsonrpc":"2.0","id":"a-1","method":"x","params":{"a":"%s"}}`, `"id":"a-1","error":{"code":-32600,"message":"the request is larger than 4 MiB"`, 17 << 20},
		"id last":              {`{"method":"x","params":{"a":"%s"},"jsonrpc":"2.0","id": 12 }`, `"id":12,"error":{"code":-32600,"message":"the request is larger than 4 MiB"`, 17 << 20},
		"id last, a string":    {`{"method":"x","params":{"a":"%s"},"jsonrpc":"2.0","id":"b"}`, `"id":"b","error"`, 17 << 20},
		"beyond the bridge":    {`{"method":"x","params":{"a":"%s"},"jsonrpc":"2.0","id":13}`, `"id":13,"error":{"code":-32600,"message":"the request is larger than 4 MiB"`, 5 << 20},
		"an id in params":      {`{"jsonrpc":"2.0","method":"x","params":{"a":"%s","id":14}}`, `"jsonrpc":"2.0","error":{"code":-32600,"message":"the message is larger than 16 MiB"`, 17 << 20},
		"a response":           {`{"jsonrpc":"2.0","id":15,"result":{"a":"%s"}}`, `"jsonrpc":"2.0","error"`, 17 << 20},
		"a response, reversed": {`{"result":{"a":"%s"},"id":16}`, `"jsonrpc":"2.0","error"`, 17 << 20},
		"no JSON":              {`%s,"id":17}`, `"jsonrpc":"2.0","error"`, 17 << 20},
	} {
		go func() { fmt.Fprintf(term.in, c.format+"\n", strings.Repeat("x", c.size)) }()
		line := <-term.lines
		assert.Contains(t, line, c.want, name)
	}
}

func TestResponsesKeepTheirBytesExceptLineBreaks(t *testing.T) {
	const exact = `{"jsonrpc": "2.0",	"id":1, "result":{ "x" : [1.0,  2e3], "t":"a b\n", "vendor": {} }  }`
	var answers atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		answer, kind := exact, "application/json"
		switch answers.Add(1) {
		case 2:
			answer = strings.ReplaceAll(exact, ", ", ",\r\n ")
		case 3:
			answer, kind = "data: "+exact+"\n\n", "text/event-stream"
		case 4:
			answer, kind = "data: "+strings.ReplaceAll(exact, ", ", ",\ndata:  ")+"\n\n", "text/event-stream"
		}
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	term := start(t, func(context.Context, bool) (Address, error) { return Address{URL: server.URL, Token: "good"}, nil })
	for n := range 4 {
		term.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		assert.Equalf(t, exact, term.expect(`"result"`), "response %d", n+1)
	}
}

func TestPendingResponsesAreDeliveredAfterStdinEOF(t *testing.T) {
	term := start(t, newDaemon(t, false).find)
	term.initialize()
	term.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{}}}`)
	term.in.Close()
	term.expect(`"id":1`)
	err := <-term.done
	require.NoError(t, err)
}

// A request that only listens has no response to wait for.
func TestOpenSubscriptionDoesNotDelayTheEnd(t *testing.T) {
	find, _, heard := silentDaemon(t)
	term := start(t, find)
	term.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	expectHeard(t, heard, "call 1")
	closed := time.Now()
	term.in.Close()
	err := <-term.done
	assert.Truef(t, err == nil && time.Since(closed) < drainTimeout, "ended after %s: %v", time.Since(closed), err)
}

func TestVanishedClientEndsShim(t *testing.T) {
	d := newDaemon(t, false)
	inR, inW := io.Pipe()
	s, err := New(Options{In: inR, Out: brokenPipe{}, Find: d.find})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	fmt.Fprintln(inW, initializeLine)
	eventually.Receive(t, time.Minute, "the shim goes on without a client", done)
	inW.Close()
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestNamesAreWrittenAsHeadersSafely(t *testing.T) {
	for text, want := range map[string]string{
		"files__read": "files__read", "test://ü": "=?base64?dGVzdDovL8O8?=", " x": "=?base64?IHg=?=", "a\r\nb": "=?base64?YQ0KYg==?=",
	} {
		assert.Equalf(t, want, wire.HeaderValue(text), "%q", text)
	}
}

// A daemon that is reached through its socket refuses requests with its old port.
func TestStaleDaemonAddressIsResolvedAgain(t *testing.T) {
	d := newDaemon(t, true)
	refusals := 0
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refusals++
		http.Error(w, "this host name is not allowed", http.StatusForbidden)
	}))
	defer old.Close()
	var asked atomic.Int64
	term := start(t, func(context.Context, bool) (Address, error) {
		if asked.Add(1) == 1 {
			return Address{URL: old.URL, Token: "good"}, nil
		}
		return Address{URL: d.URL, Token: "good"}, nil
	})
	term.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"x":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	got := term.expect(`"id":1`)
	assert.Truef(t, strings.Contains(got, `"text"`) && refusals == 1, "%s after %d refusals", got, refusals)

	// A shim that is refused at every address reports the error and stops.
	always := start(t, func(context.Context, bool) (Address, error) {
		return Address{URL: old.URL + "/" + fmt.Sprint(asked.Add(1)), Token: "good"}, nil
	})
	always.send(`{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	assert.Contains(t, always.expect(`"id":2`), "status 403")
}

// silentDaemon answers the handshake and holds every other request until it is closed or cancelled.
// It counts the held requests and reports the received messages.
func silentDaemon(t *testing.T) (find func(context.Context, bool) (Address, error), held *atomic.Int64, heard chan string) {
	t.Helper()
	held, heard = new(atomic.Int64), make(chan string, 4096)
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ RequestID json.RawMessage }
		}
		_ = json.Unmarshal(body, &m)
		switch {
		case r.Method == http.MethodDelete:
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "one")
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`)
		case m.Method == "tools/call" || m.Method == "subscriptions/listen" || r.Method == http.MethodGet:
			if m.ID != nil {
				held.Add(1)
				defer held.Add(-1)
				heard <- "call " + string(m.ID)
			}
			select {
			case <-r.Context().Done():
			case <-over:
			}
		default:
			heard <- m.Method + string(m.Params.RequestID)
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(func() {
		close(over)
		server.CloseClientConnections()
		server.Close()
	})
	return func(context.Context, bool) (Address, error) { return Address{URL: server.URL, Token: "good"}, nil }, held, heard
}

func expectHeard(t *testing.T, heard chan string, want string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		select {
		case got := <-heard:
			if got == want {
				return
			}
		case <-deadline:
			t.Fatalf("the daemon never heard %q", want)
		}
	}
}

func TestMessagesAreReadWhileRequestSlotsAreFull(t *testing.T) {
	find, held, heard := silentDaemon(t)
	term := start(t, find)
	term.initialize()
	const calls = maxInFlight + 3
	for n := range calls {
		term.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, n+1)
		if n == 0 { // the order of the others is not defined
			expectHeard(t, heard, "call 1")
		}
	}
	// A response to a request of the server and a cancellation, behind all requests.
	term.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	expectHeard(t, heard, "notifications/cancelled1")
	n := held.Load()
	assert.Truef(t, n <= maxInFlight, "%d requests are in flight", n)
	// A request that was never sent is cancelled by the shim: the daemon does not know it.
	term.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, calls)
	term.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	expectHeard(t, heard, "notifications/roots/list_changed")
}

func TestRequestsBeyondQueueGetError(t *testing.T) {
	find, _, _ := silentDaemon(t)
	term := start(t, find)
	term.initialize()
	for n := range maxPending + 1 {
		term.send(`{"jsonrpc":"2.0","id":"call-%d","method":"tools/call","params":{"name":"wait"}}`, n)
	}
	assert.Contains(t, term.expect(fmt.Sprintf(`"call-%d"`, maxPending)), `"error"`)
}
