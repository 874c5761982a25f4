package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// sessionLosingServer is a legacy server whose sessions can be lost, with a configurable way to
// refuse an unknown session.
type sessionLosingServer struct {
	refuse func(w http.ResponseWriter, id string) // responds to a request with an unknown session
	call   func(w http.ResponseWriter, id string) // nil: return a result

	mu                 sync.Mutex
	session            string
	opened             int
	toolCalls          int // number of tool calls
	refusesNewSessions bool
}

func (d *sessionLosingServer) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.session = "forgotten"
}

func (d *sessionLosingServer) counts() (opened, made int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened, d.toolCalls
}

func (d *sessionLosingServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &m)
	id := string(m.ID)
	answer := func(result string) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
	switch session := r.Header.Get("Mcp-Session-Id"); {
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case m.Method == "initialize":
		d.opened++
		if d.session = fmt.Sprint("s", d.opened); d.refusesNewSessions && d.opened > 1 {
			d.session = "another"
		}
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", d.opened))
		answer(`{"protocolVersion":"2025-11-25","capabilities":{}}`)
	case d.refusesNewSessions && id == "":
		w.WriteHeader(http.StatusAccepted)
	case session != d.session:
		d.refuse(w, id)
	case id == "":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "ping":
		answer(`{}`)
	case d.call != nil:
		d.call(w, id)
	default:
		d.toolCalls++
		answer(fmt.Sprintf(`{"session":%q}`, session))
	}
}

// open returns a connection to the server; o is without its address.
func (d *sessionLosingServer) open(t *testing.T, o RemoteOptions) *Remote {
	t.Helper()
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	o.URL = server.URL
	return openRemote(t, o)
}

// openRemote returns a legacy connection that is initialized, and closes it after the test.
func openRemote(t *testing.T, o RemoteOptions) *Remote {
	t.Helper()
	o.Server = "s"
	r, err := NewRemote(o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	_, err = r.Call(t.Context(), "initialize", []byte(`{}`), core.Span{}, nil)
	require.NoError(t, err)
	r.SetEra(core.Legacy, "2025-11-25")
	return r
}

// refusal responds with status and text, in which %s is the id of the request.
func refusal(status int, kind, text string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, id string) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "ID", id))
	}
}

const jsonKind = "application/json"

// A session that the server has lost is replaced, whatever the response is. A request that the
// server refused before processing it is sent again, once.
func TestLostSessionIsDetectedInEveryForm(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter, string){
		"404":                       refusal(404, "text/plain", ""),
		"404 with an error":         refusal(404, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}`),
		"410":                       refusal(410, "text/plain", "gone"),
		"400 as the TypeScript SDK": refusal(400, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`),
		"400 with our id":           refusal(400, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":ID}`),
		"400 in words":              refusal(400, "text/plain", "Invalid or missing session ID"),
		"400 without a reason":      refusal(400, "text/plain", ""),
		"400 of a server that has not been initialized": refusal(400, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`),
	} {
		t.Run(name, func(t *testing.T) {
			d := &sessionLosingServer{refuse: refuse}
			r := d.open(t, RemoteOptions{})
			d.forget()
			for range 2 {
				reply, err := r.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
				require.NoError(t, err, reply.Error)
				require.Equal(t, `{"session":"s2"}`, string(reply.Result), reply.Error)
			}
			opened, made := d.counts()
			assert.Truef(t, opened == 2 && made == 2, "%d sessions, the tool was called %d times", opened, made)
		})
	}
}

// An error about the session in place of a result may follow a call that had an effect. Such a call
// is not repeated: it fails with a clear error, and the next call works.
func TestPossiblyExecutedCallIsNotRepeatedInNewSession(t *testing.T) {
	for name, refuse := range map[string]func(http.ResponseWriter, string){
		"an error":         refusal(200, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session terminated"},"id":ID}`),
		"an error, no id":  refusal(200, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"unknown session"},"id":null}`),
		"an event":         refusal(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"Session expired\"},\"id\":ID}\n\n"),
		"500 and an error": refusal(500, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"no such session"},"id":ID}`),
	} {
		t.Run(name, func(t *testing.T) {
			d := &sessionLosingServer{refuse: refuse}
			r := d.open(t, RemoteOptions{})
			d.forget()
			_, err := r.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
			own, ok := errors.AsType[*core.Error](err)
			if !ok || own.Unsent || own.Code != core.CodeUnavailable || !strings.Contains(own.Message, "it is unknown whether the call was executed") {
				t.Fatalf("%v", err)
			}
			reply, err := r.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
			assert.Truef(t, err == nil && string(reply.Result) == `{"session":"s2"}`, "the next call: %s%s, %v", reply.Result, reply.Error, err)
			d.forget()
			if reply, err := r.Call(t.Context(), "resources/read", []byte(`{"uri":"x:y"}`), core.Span{}, nil); err != nil || string(reply.Result) != `{"session":"s3"}` {
				t.Errorf("what has no effect is repeated: %s%s, %v", reply.Result, reply.Error, err)
			}
			opened, made := d.counts()
			assert.Truef(t, opened == 3 && made == 2, "%d sessions, %d calls", opened, made)
		})
	}
}

// A tool may have sessions of another kind. Its error is forwarded unchanged, and the MCP session
// is kept.
func TestErrorAboutOtherSessionIsForwarded(t *testing.T) {
	for name, status := range map[string]int{"an error": 200, "an error with 400": 400} {
		t.Run(name, func(t *testing.T) {
			const text = `{"code":-32602,"message":"browser session not found"}`
			d := &sessionLosingServer{refuse: refusal(404, "", ""), call: refusal(status, jsonKind, `{"jsonrpc":"2.0","id":ID,"error":`+text+`}`)}
			reply, err := d.open(t, RemoteOptions{}).Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
			assert.NoError(t, err)
			assert.Equal(t, text, string(reply.Error))
			opened, _ := d.counts()
			assert.Equal(t, 1, opened)
		})
	}
}

// Servers behind one URL that do not share their sessions fail single calls, not the connection.
func TestRefusedSessionIsClearError(t *testing.T) {
	d := &sessionLosingServer{refuse: refusal(404, "", ""), refusesNewSessions: true}
	r := d.open(t, RemoteOptions{})
	d.forget()
	_, err := r.Call(t.Context(), "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
	own, ok := errors.AsType[*core.Error](err)
	require.True(t, ok && own.Unsent && own.Retriable && strings.Contains(own.Message, "rejected the session that it had just created"), err)
	assert.NoError(t, r.Err(), "the connection is given up")
}

// A server without a GET stream that responds with 404 or 400 keeps its session.
func TestMissingNotificationStreamIsNotLostSession(t *testing.T) {
	for _, status := range []int{400, 404} {
		d := &sessionLosingServer{refuse: refusal(404, "", "")}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w.WriteHeader(status)
				return
			}
			d.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		r := openRemote(t, RemoteOptions{URL: server.URL})
		assert.Falsef(t, r.readNotifications(&resumption{}), "%d: it is asked for again", status)
		opened, _ := d.counts()
		assert.Equalf(t, 1, opened, "%d", status)
	}
}

// The reason of the cancellation names the timeout, so that a server author does not blame the
// client.
func TestTimeoutIsForwardedAsCancellation(t *testing.T) {
	d := &sessionLosingServer{refuse: refusal(404, "", "")}
	cancelled := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case strings.Contains(string(body), "notifications/cancelled"):
			cancelled <- string(body)
		case strings.Contains(string(body), "tools/call"):
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		d.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := openRemote(t, RemoteOptions{URL: server.URL})
	life, end := context.WithCancelCause(t.Context())
	go func() { end(core.Errorf(core.CodeTimeout, "late")) }()
	_, err := r.Call(life, "tools/call", []byte(`{"name":"x"}`), core.Span{}, nil)
	assert.Equal(t, core.CodeTimeout, core.CodeOf(err))
	got := <-cancelled
	assert.Contains(t, got, `"reason":"the request took too long"`)
}

type admission struct{ err error }

func (a admission) Readmit() error { return a.err }

// tokenTransport asks as that of an account does after it got a new token.
type tokenTransport struct{}

func (tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := req.GetBody()
	if text, _ := io.ReadAll(body); strings.Contains(string(text), "initialize") {
		if err := core.Readmit(req.Context()); err != nil {
			return nil, err
		}
	}
	return http.DefaultTransport.RoundTrip(req)
}

// A call that waits for a new session is admitted again before it is sent in it. Other calls use the
// new session.
func TestCallIsAdmittedAgainBeforeItIsSentInNewSession(t *testing.T) {
	for name, d := range map[string]*sessionLosingServer{
		"refused":            {refuse: refusal(404, "text/plain", "")},
		"refused in a reply": {refuse: refusal(200, jsonKind, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Session not found"},"id":ID}`)},
	} {
		r := d.open(t, RemoteOptions{HTTP: &http.Client{Transport: tokenTransport{}}})
		d.forget()
		changed := core.Errorf(core.CodeRejected, "not any more")
		for _, want := range []error{changed, nil} {
			_, err := r.Call(core.WithReadmitter(t.Context(), admission{want}), "resources/read", []byte(`{"uri":"x"}`), core.Span{}, nil)
			assert.ErrorIs(t, err, want, name)
		}
		opened, made := d.counts()
		assert.Truef(t, opened == 2 && made == 1, "%s: %d sessions, %d calls", name, opened, made)
	}
}
