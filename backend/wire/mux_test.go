package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink that records what it receives.
type recorder struct {
	mu   sync.Mutex
	got  []string
	gate chan struct{} // if not nil, Notify waits for it
	ask  func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)
}

func (r *recorder) Notify(method string, params json.RawMessage) {
	if r.gate != nil {
		<-r.gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, method+" "+string(params))
}

func (r *recorder) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	return r.ask(ctx, method, params)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

// start runs a Mux with a test server until the test ends.
func start(t testing.TB, mode string, change func(*wire.MuxOptions)) *wire.Mux {
	t.Helper()
	pipe, err := mcptest.Start(mode)
	require.NoError(t, err)
	o := wire.MuxOptions{Server: "test", In: pipe.Stdout(), Out: pipe.Stdin()}
	if change != nil {
		change(&o)
	}
	m := wire.NewMux(o)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = m.Run()
	}()
	t.Cleanup(func() {
		m.Close(errors.New("test over"))
		assert.NoError(t, pipe.Stop(context.Background()))
		<-ended
	})
	return m
}

func call(t testing.TB, m *wire.Mux, params string, sink core.ServerMessageHandler) (core.Reply, error) {
	t.Helper()
	p, err := wire.ScanParams([]byte(params))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return m.Call(ctx, "tools/call", []byte(params), p.ProgressToken, sink)
}

func mustCall(t testing.TB, m *wire.Mux, params string, sink core.ServerMessageHandler) core.Reply {
	t.Helper()
	reply, err := call(t, m, params, sink)
	require.NoError(t, err)
	return reply
}

func TestResultsAreUnchanged(t *testing.T) {
	t.Parallel()
	m := start(t, "quirky", nil)
	require.Equal(t, mcptest.QuirkyResult, string(mustCall(t, m, `{"name":"odd"}`, nil).Result))
}

func TestEveryProgressNotificationArrivesInOrderBeforeTheResult(t *testing.T) {
	t.Parallel()
	m := start(t, "progress", nil)
	for range 2 {
		sink := &recorder{}
		reply := mustCall(t, m, `{"arguments":{"n":4000},"_meta":{"progressToken":"my \u00e9 token"}}`, sink)
		require.NotNil(t, reply.Result, string(reply.Error))
		got := sink.all()
		require.Len(t, got, 4000)
		for i, line := range got {
			want := fmt.Sprintf(`notifications/progress {"progress":%d,"progressToken":"my \u00e9 token","vendor":1.0}`, i+1)
			require.Equalf(t, want, line, "notification %d", i)
		}
	}
}

func TestSlowSinkDoesNotStallOtherCalls(t *testing.T) {
	t.Parallel()
	m := start(t, "flood", nil)
	gate := make(chan struct{})
	slow := &recorder{gate: gate}
	ended := make(chan error, 1)
	go func() {
		_, err := call(t, m, `{"arguments":{"kind":0,"n":50000},"_meta":{"progressToken":1}}`, slow)
		ended <- err
	}()
	for range 3 { // a call that waited for the sink would never return
		mustCall(t, m, `{"arguments":{"n":0}}`, nil)
	}
	close(gate)
	err := <-ended
	require.NoError(t, err)
	got, dropped := len(slow.all()), m.Stats().Dropped
	assert.Truef(t, got >= 8192 && int64(got)+dropped == 50000, "%d delivered and %d dropped of 50,000", got, dropped)
}

func TestCancellationReturnsImmediatelyAndNotifiesServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"without a reason":   {context.Canceled, `"the client cancelled the request"`},
		"with a reason":      {&core.Error{Code: core.CodeCancelled, Message: "cancelled", Cause: wire.ReasonOfClient("a \"b\"\n")}, `"a \"b\"\u000a"`},
		"because of a limit": {core.Errorf(core.CodeTimeout, "slow"), `"the request took too long"`},
	} {
		t.Run(name, func(t *testing.T) { testCancellation(t, c.cause, c.want) })
	}
}

func testCancellation(t *testing.T, cause error, reason string) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	m := wire.NewMux(wire.MuxOptions{Server: "test", In: outR, Out: inW})
	ended := make(chan struct{})
	go func() { defer close(ended); _ = m.Run() }()
	lines := make(chan string, 4)
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := inR.Read(buf)
			if err != nil {
				return
			}
			lines <- string(buf[:n])
		}
	}()
	ctx, cancel := context.WithCancelCause(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := m.Call(ctx, "tools/call", []byte("{\n}"), core.Span{}, nil)
		failed <- err
	}()
	got := <-lines
	assert.Equal(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`+"\n", got)
	cancel(cause)
	err := <-failed
	assert.ErrorIs(t, err, cause)
	got = <-lines
	assert.Contains(t, got, `"notifications/cancelled","params":{"requestId":1,"reason":`+reason+`}`)
	m.Close(io.EOF)
	inR.Close()
	outW.Close()
	<-ended
}

func TestServerRequestReachesOnlyInFlightCall(t *testing.T) {
	t.Parallel()
	m := start(t, "ask", nil)
	sink := &recorder{ask: func(_ context.Context, method string, params json.RawMessage) (core.Reply, error) {
		if method != "elicitation/create" || !strings.Contains(string(params), "Sure?") {
			return core.Reply{}, fmt.Errorf("asked %s %s", method, params)
		}
		return core.Reply{Result: []byte(`{"action":"accept","n":9007199254740993}`)}, nil
	}}
	reply := mustCall(t, m, `{}`, sink)
	require.Contains(t, string(reply.Result), `"result":{"action":"accept","n":9007199254740993}`)
}

func TestAmbiguousServerRequestIsRefused(t *testing.T) {
	t.Parallel()
	m := start(t, "ask", nil)
	var asked atomic.Int64
	sink := &recorder{ask: func(ctx context.Context, _ string, _ json.RawMessage) (core.Reply, error) {
		asked.Add(1)
		<-ctx.Done()
		return core.Reply{}, ctx.Err()
	}}
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan struct{})
	go func() { // stays in flight
		defer close(first)
		_, _ = m.Call(ctx, "tools/call", nil, core.Span{}, sink)
	}()
	eventually.True(t, "the client is asked", func() bool { return asked.Load() > 0 })
	reply := mustCall(t, m, `{}`, sink)
	require.Contains(t, string(reply.Result), `"code":-32000`)
	require.EqualValues(t, 1, asked.Load())
	cancel()
	<-first
}

// closeAfter closes a pipe after a number of lines were written to it.
type closeAfter struct {
	io.WriteCloser
	lines int
}

func (c *closeAfter) Write(p []byte) (int, error) {
	n, err := c.WriteCloser.Write(p)
	if c.lines -= bytes.Count(p[:n], []byte("\n")); c.lines <= 0 && err == nil {
		err = c.Close()
	}
	return n, err
}

func TestServerExitFailsEachCallOnce(t *testing.T) {
	t.Parallel()
	const calls = 10
	// The server exits when it has received all calls; a later call would not have been sent.
	m := start(t, "silent-call", func(o *wire.MuxOptions) { o.Out = &closeAfter{WriteCloser: o.Out.(io.WriteCloser), lines: calls} })
	var wg sync.WaitGroup
	for range calls {
		wg.Go(func() {
			if _, err := call(t, m, `{}`, nil); core.CodeOf(err) != core.CodeUnavailable || unsent(err) {
				t.Errorf("%v; it may be tried again: %v", err, unsent(err))
			}
		})
	}
	wg.Wait()
	if _, err := call(t, m, `{}`, nil); core.CodeOf(err) != core.CodeUnavailable || !unsent(err) {
		t.Errorf("%v; it may be tried again: %v", err, unsent(err))
	}
}

// unsent reports whether the error means that no part of the call reached the server, so that it
// may be repeated.
func unsent(err error) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Unsent
}

// The reader waits for the sink of a call for 250 ms in total.
func TestBurstWaitsForBrieflySlowSink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, says := io.Pipe()
		hears, out := io.Pipe()
		m := wire.NewMux(wire.MuxOptions{Server: "test", In: in, Out: out})
		var all sync.WaitGroup
		all.Go(func() { _ = m.Run() })
		all.Go(func() {
			request, _ := bufio.NewReader(hears).ReadString('\n')
			_, token, _ := strings.Cut(request, `"progressToken":`)
			token, _, _ = strings.Cut(token, "}")
			burst := bufio.NewWriter(says)
			for i := range 20000 {
				fmt.Fprintf(burst, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", token, i)
			}
			fmt.Fprintln(burst, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			_ = burst.Flush()
		})
		gate := make(chan struct{})
		time.AfterFunc(249*time.Millisecond, func() { close(gate) })
		sink := &recorder{gate: gate}
		mustCall(t, m, `{"_meta":{"progressToken":1}}`, sink)
		assert.Equal(t, 20000, len(sink.all()))
		m.Close(errors.New("test over"))
		says.Close()
		hears.Close()
		all.Wait()
	})
}

func TestLogMessagesReachOnlyInFlightCall(t *testing.T) {
	t.Parallel()
	m := start(t, "flood", nil)
	sink := &recorder{}
	mustCall(t, m, `{"arguments":{"kind":1,"n":3}}`, sink)
	got := sink.all()
	assert.Truef(t, len(got) == 3 && got[0] == `notifications/message {"level":"info","data":"flood"}`, "%q", got)
}

func TestCancelledServerRequestIsNotAnswered(t *testing.T) {
	t.Parallel()
	m := start(t, "ask-cancel", nil)
	sink := &recorder{ask: func(ctx context.Context, _ string, _ json.RawMessage) (core.Reply, error) {
		<-ctx.Done() // if it was asked at all before the cancellation
		return core.Reply{}, ctx.Err()
	}}
	mustCall(t, m, `{}`, sink)
	for range 20 { // a response would have arrived by now
		reply, err := m.Call(t.Context(), "answers", nil, core.Span{}, nil)
		require.NoError(t, err)
		require.Equal(t, `{"answers":0}`, string(reply.Result))
		<-time.After(time.Millisecond)
	}
}
