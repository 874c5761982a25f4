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
	"sync/atomic"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// strayServer is a legacy server whose GET stream carries what a tool writes to get. Each tool
// writes the response of its own POST.
type strayServer struct {
	get  chan string
	call func(s *strayServer, w http.ResponseWriter, id, token string)
}

func (s *strayServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		for {
			select {
			case text := <-s.get:
				writeEvent(w, text)
			case <-r.Context().Done():
				return
			}
		}
	}
	body, _ := io.ReadAll(r.Body)
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta struct {
				Token string `json:"progressToken"`
			} `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m)
	w.Header().Set("Content-Type", "application/json")
	switch m.Method {
	case "initialize":
		w.Header().Set("Mcp-Session-Id", "s")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.ID)
	case "tools/call":
		s.call(s, w, string(m.ID), m.Params.Meta.Token)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func writeEvent(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", text)
	w.(http.Flusher).Flush()
}

func progressOf(token string, n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":%d}}`, token, n)
}

func resultOf(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{"ok":true}}` }

// answer responds when the sink has n messages.
func answerAfter(t *testing.T, sink *straySink, n int, w http.ResponseWriter, id string) {
	eventually.True(t, "the messages have arrived", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return len(sink.got) >= n })
	fmt.Fprint(w, resultOf(id))
}

// straySink fails the test if it is used after its call, or twice at once.
type straySink struct {
	t     *testing.T
	inUse atomic.Bool

	mu   sync.Mutex
	got  []string
	over bool
	ask  func(ctx context.Context) (core.Reply, error)
}

func (s *straySink) Notify(method string, params json.RawMessage) {
	if !s.inUse.CompareAndSwap(false, true) {
		s.t.Error("two notifications at once")
	}
	defer s.inUse.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		s.t.Errorf("late: %s", params)
	}
	s.got = append(s.got, strings.TrimPrefix(method, "notifications/")+string(params))
}

func (s *straySink) Ask(ctx context.Context, method string, _ json.RawMessage) (core.Reply, error) {
	return s.ask(ctx)
}

func (s *straySink) end() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	return s.got
}

func openStrayServer(t *testing.T, call func(s *strayServer, w http.ResponseWriter, id, token string)) *Remote {
	t.Helper()
	server := httptest.NewServer(&strayServer{get: make(chan string), call: call})
	r := openRemote(t, RemoteOptions{URL: server.URL})
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run() }()
	t.Cleanup(func() { _ = r.Close(context.Background()); <-done; server.Close() })
	require.NoError(t, r.Notify(t.Context(), "notifications/initialized", nil))
	eventually.True(t, "the GET stream is open", r.streamOpen.Load)
	return r
}

func callTool(t *testing.T, r *Remote, token string, sink *straySink) core.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	params := `{"_meta":{"progressToken":`
	reply, err := r.Call(ctx, "tools/call", []byte(params+token+`}}`), core.Span{Start: len(params), End: len(params) + len(token)}, sink)
	assert.NoError(t, err, reply.Error)
	assert.Equal(t, `{"ok":true}`, string(reply.Result), reply.Error)
	return reply
}

// Many servers send progress and log lines on the GET stream instead of the stream of the call.
func TestMessagesReachTheirCallFromAnyStream(t *testing.T) {
	t.Parallel()
	want := func(token string, n int) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf(`progress{"progressToken":%s,"progress":%d}`, token, i))
		}
		return all
	}
	t.Run("progress before a JSON reply", func(t *testing.T) {
		t.Parallel()
		sink := &straySink{t: t}
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			for i := range 100 {
				s.get <- progressOf(token, i)
			}
			answerAfter(t, sink, 100, w, id)
		})
		callTool(t, r, `"mine"`, sink)
		assert.Equal(t, fmt.Sprint(want(`"mine"`, 100)), fmt.Sprint(sink.end()))
	})
	t.Run("progress that arrives after the reply", func(t *testing.T) {
		t.Parallel()
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			w.Header().Set("Content-Length", fmt.Sprint(len(resultOf(id)))) // ends the response before the handler
			fmt.Fprint(w, resultOf(id))
			w.(http.Flusher).Flush()
			for i := range 100 {
				s.get <- progressOf(token, i)
			}
		})
		r.strayGrace = 500 * time.Millisecond
		callTool(t, r, `1`, &straySink{t: t}) // shows the habit of the server
		eventually.True(t, "a late notification was seen", r.hasStrayProgress.Load)
		sink := &straySink{t: t}
		callTool(t, r, `"mine"`, sink)
		assert.Equal(t, fmt.Sprint(want(`"mine"`, 100)), fmt.Sprint(sink.end()))
	})
	t.Run("progress on both streams", func(t *testing.T) {
		t.Parallel()
		sink := &straySink{t: t}
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			for i := 0; i < 100; i += 2 {
				s.get <- progressOf(token, i)
				writeEvent(w, progressOf(token, i+1))
			}
			eventually.True(t, "the messages have arrived", func() bool { sink.mu.Lock(); defer sink.mu.Unlock(); return len(sink.got) == 100 })
			writeEvent(w, resultOf(id))
		})
		callTool(t, r, `7`, sink)
		assert.Len(t, sink.end(), 100)
	})
	t.Run("progress on the stream of another call with the same token", func(t *testing.T) {
		t.Parallel()
		first := make(chan string, 1)
		arrived := make(chan struct{})
		sinks := []*straySink{{t: t}, {t: t}}
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			select {
			case first <- token:
				<-arrived
				fmt.Fprint(w, resultOf(id))
			default: // the second call
				other := <-first
				for i := range 3 {
					writeEvent(w, progressOf(other, i))
				}
				writeEvent(w, resultOf(id))
			}
		})
		var both sync.WaitGroup
		both.Go(func() { callTool(t, r, `"same"`, sinks[0]) })
		eventually.True(t, "the first call has begun", func() bool { return len(first) == 1 })
		callTool(t, r, `"same"`, sinks[1])
		eventually.True(t, "the messages have arrived", func() bool { sinks[0].mu.Lock(); defer sinks[0].mu.Unlock(); return len(sinks[0].got) == 3 })
		close(arrived)
		both.Wait()
		assert.Equal(t, fmt.Sprint(want(`"same"`, 3), []string(nil)), fmt.Sprint(sinks[0].end(), sinks[1].end()))
	})
	t.Run("log lines of the only call", func(t *testing.T) {
		t.Parallel()
		sink := &straySink{t: t}
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			for i := range 3 {
				s.get <- fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, i)
			}
			s.get <- `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"of another","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}}}`
			answerAfter(t, sink, 3, w, id)
		})
		callTool(t, r, `1`, sink)
		got := sink.end()
		assert.True(t, len(got) == 3 && got[2] == `message{"level":"info","data":2}`, got)
	})
	t.Run("the reply itself", func(t *testing.T) {
		t.Parallel()
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			w.WriteHeader(http.StatusAccepted)
			s.get <- progressOf(token, 0)
			s.get <- resultOf(id)
			s.get <- resultOf(id) // is late
		})
		sink := &straySink{t: t}
		callTool(t, r, `"mine"`, sink)
		assert.Equal(t, fmt.Sprint(want(`"mine"`, 1)), fmt.Sprint(sink.end()))
	})
	t.Run("a batch", func(t *testing.T) {
		t.Parallel()
		r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
			fmt.Fprintf(w, "[%s,\n%s]", progressOf(token, 0), resultOf(id))
		})
		sink := &straySink{t: t}
		callTool(t, r, `"mine"`, sink)
		assert.Equal(t, fmt.Sprint(want(`"mine"`, 1)), fmt.Sprint(sink.end()))
	})
}

// A question on the GET stream ends with the call that it belongs to.
func TestStrayQuestionEndsWithItsCall(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	asked := make(chan struct{})
	r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
		s.get <- `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?"}}`
		<-asked
		fmt.Fprint(w, resultOf(id))
	})
	sink := &straySink{t: t, ask: func(ctx context.Context) (core.Reply, error) {
		close(asked)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return core.Reply{}, context.Cause(ctx)
	}}
	callTool(t, r, `1`, sink)
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the question outlives its call")
	}
}

// A slow client delays neither the GET stream nor other calls.
func TestStrayMessagesOfSlowClientDelayNobody(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
		s.get <- progressOf(token, 0)
		if strings.HasSuffix(token, ".1") {
			<-gate
		}
		fmt.Fprint(w, resultOf(id))
	})
	r.nextID.Store(0)
	blocked := &gatedSink{gate: gate, reached: make(chan struct{})}
	var slow sync.WaitGroup
	slow.Go(func() {
		_, _ = r.Call(context.Background(), "tools/call", []byte(`{"_meta":{"progressToken":1}}`), core.Span{Start: 26, End: 27}, blocked)
	})
	<-blocked.reached
	sink := &straySink{t: t}
	callTool(t, r, `1`, sink)
	assert.Len(t, sink.end(), 1)
	close(gate)
	slow.Wait()
}

type gatedSink struct{ gate, reached chan struct{} }

func (s *gatedSink) Notify(string, json.RawMessage) { close(s.reached); <-s.gate }
func (s *gatedSink) Ask(context.Context, string, json.RawMessage) (core.Reply, error) {
	return core.Reply{}, nil
}

// A request that the server takes back ends with the server's reason, of which the beginning is kept.
func TestServersCancellationKeepsItsReason(t *testing.T) {
	t.Parallel()
	reason := strings.Repeat("é", maxReason)
	asked := make(chan struct{})
	ended := make(chan error, 1)
	r := openStrayServer(t, func(s *strayServer, w http.ResponseWriter, id, token string) {
		s.get <- `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"?"}}`
		<-asked
		s.get <- `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"` + reason + `"}}`
		cause := <-ended
		e, ok := errors.AsType[*CancelledByServer](cause)
		assert.True(t, ok && e.Reason == reason[:maxReason]+"…", cause)
		fmt.Fprint(w, resultOf(id))
	})
	callTool(t, r, `1`, &straySink{t: t, ask: func(ctx context.Context) (core.Reply, error) {
		close(asked)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return core.Reply{}, context.Cause(ctx)
	}})
}
