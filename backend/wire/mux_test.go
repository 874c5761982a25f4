package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"drawbridge/backend/hub"
	"drawbridge/backend/mcptest"
	"drawbridge/backend/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a sink that keeps what it gets.
type recorder struct {
	mu    sync.Mutex
	got   []string
	delay time.Duration
	gate  chan struct{} // Notify waits for it when it is set
	ask   func(ctx context.Context, method string, params json.RawMessage) (hub.Reply, error)
}

func (r *recorder) Notify(method string, params json.RawMessage) {
	if r.gate != nil {
		<-r.gate
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, method+" "+string(params))
}

func (r *recorder) Ask(ctx context.Context, method string, params json.RawMessage) (hub.Reply, error) {
	return r.ask(ctx, method, params)
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

// start runs a Mux over a test server and ends both with the test.
func start(t testing.TB, mode string, change func(*wire.MuxOptions)) *wire.Mux {
	t.Helper()
	pipe, err := mcptest.Start(mode)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := pipe.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		<-ended
	})
	return m
}

func call(t testing.TB, m *wire.Mux, params string, sink hub.Sink) (hub.Reply, error) {
	t.Helper()
	p, err := wire.ScanParams([]byte(params))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return m.Call(ctx, "tools/call", []byte(params), p.ProgressToken, sink)
}

func mustCall(t testing.TB, m *wire.Mux, params string, sink hub.Sink) hub.Reply {
	t.Helper()
	reply, err := call(t, m, params, sink)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestResultsArriveByteForByte(t *testing.T) {
	m := start(t, "quirky", nil)
	if reply := mustCall(t, m, `{"name":"odd"}`, nil); string(reply.Result) != mcptest.QuirkyResult {
		t.Fatalf("got  %s\nwant %s", reply.Result, mcptest.QuirkyResult)
	}
}

func TestEveryProgressNotificationArrivesInOrderBeforeTheResult(t *testing.T) {
	m := start(t, "progress", nil)
	for name, sink := range map[string]*recorder{"quick": {}, "other": {}} {
		reply := mustCall(t, m, `{"arguments":{"n":4000},"_meta":{"progressToken":"my \u00e9 token"}}`, sink)
		if reply.Result == nil {
			t.Fatal(string(reply.Error))
		}
		got := sink.all()
		if len(got) != 4000 {
			t.Fatalf("%s: %d notifications before the result", name, len(got))
		}
		for i, line := range got {
			want := fmt.Sprintf(`notifications/progress {"progress":%d,"progressToken":"my \u00e9 token","vendor":1.0}`, i+1)
			if line != want {
				t.Fatalf("notification %d is %s, want %s", i, line, want)
			}
		}
	}
}

func TestConcurrentCallsGetTheirOwnRepliesAndProgress(t *testing.T) {
	m := start(t, "progress", nil)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			sink := &recorder{}
			if _, err := call(t, m, fmt.Sprintf(`{"arguments":{"n":%d},"_meta":{"progressToken":1}}`, i), sink); err != nil {
				t.Error(err)
			}
			if got := sink.all(); len(got) != i {
				t.Errorf("%d of %d notifications", len(got), i)
			}
		})
	}
	wg.Wait()
}

func TestASlowSinkDoesNotStallOtherCalls(t *testing.T) {
	m := start(t, "flood", nil)
	gate := make(chan struct{})
	slow := &recorder{gate: gate}
	ended := make(chan error, 1)
	go func() {
		_, err := call(t, m, `{"arguments":{"kind":0,"n":50000},"_meta":{"progressToken":1}}`, slow)
		ended <- err
	}()
	began := time.Now()
	for i := range 3 {
		mustCall(t, m, `{"arguments":{"n":0}}`, nil)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("call %d waited %v for a sink that takes nothing", i, took)
		}
	}
	close(gate)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if got, dropped := len(slow.all()), m.Stats().Dropped; got < 8192 || int64(got)+dropped != 50000 {
		t.Errorf("%d delivered and %d dropped of 50,000", got, dropped)
	}
}

func TestJunkIsSkippedAndTwoMessagesOnOneLineAreBothRead(t *testing.T) {
	var junk, notified atomic.Int64
	m := start(t, "junk", func(o *wire.MuxOptions) {
		o.OnJunk = func([]byte, string) { junk.Add(1) }
		o.OnNotification = func(string, json.RawMessage) { notified.Add(1) }
	})
	for range 3 {
		if reply := mustCall(t, m, `{}`, nil); !strings.Contains(string(reply.Result), "done") {
			t.Fatal(string(reply.Result))
		}
	}
	if notified.Load() != 3 || junk.Load() < 26 {
		t.Errorf("%d notifications, %d lines of junk", notified.Load(), junk.Load())
	}
}

func TestABannerBeforeTheFirstAnswerIsSkipped(t *testing.T) {
	m := start(t, "banner", nil)
	mustCall(t, m, `{}`, nil)
	if junk := m.Stats().Junk; junk != 8 {
		t.Errorf("%d lines of junk, want 8", junk)
	}
}

func TestAnOversizedResultFailsOnlyItsOwnCall(t *testing.T) {
	m := start(t, "giant", func(o *wire.MuxOptions) { o.MaxMessage = 1 << 20 })
	for _, arguments := range []string{`{"size":5000000}`, `{"size":5000000,"last":1}`} {
		_, err := call(t, m, `{"arguments":`+arguments+`}`, nil)
		if err == nil || !strings.Contains(err.Error(), "larger than the limit") {
			t.Fatalf("%s: got %v", arguments, err)
		}
		if reply := mustCall(t, m, `{"arguments":{"size":900000}}`, nil); len(reply.Result) < 900000 {
			t.Fatalf("%d bytes", len(reply.Result))
		}
	}
}

func TestAnEndlessLineEndsTheConnection(t *testing.T) {
	m := start(t, "endless", func(o *wire.MuxOptions) { o.MaxMessage = 1 << 20 })
	if _, err := call(t, m, `{}`, nil); hub.CodeOf(err) != hub.CodeUnavailable {
		t.Fatal(err)
	}
}

func TestDeepNestingFailsOnlyItsOwnCall(t *testing.T) {
	m := start(t, "deep", nil)
	for _, depth := range []int{9_000, 1_000_000} {
		if _, err := call(t, m, fmt.Sprintf(`{"arguments":{"depth":%d}}`, depth), nil); err == nil {
			t.Fatalf("depth %d passed", depth)
		}
		mustCall(t, m, `{"arguments":{"depth":400}}`, nil)
	}
}

func TestBadTextIsRepairedAndMarked(t *testing.T) {
	m := start(t, "bad-text", nil)
	reply := mustCall(t, m, `{}`, nil)
	const want = `{"content":[{"type":"text","text":"a` + "\uFFFD" + `b\u0000\ufffd\u001b"}]}`
	if string(reply.Result) != want || m.Stats().Repaired != 1 {
		t.Fatalf("got %s, %d repaired", reply.Result, m.Stats().Repaired)
	}
}

func TestContentLengthFramingBothWays(t *testing.T) {
	m := start(t, "lsp", func(o *wire.MuxOptions) { o.Framing = wire.ContentLength })
	for range 3 {
		if reply := mustCall(t, m, `{"arguments":{"a":"é"}}`, nil); !strings.Contains(string(reply.Result), `{"a":"é"}`) {
			t.Fatal(string(reply.Result))
		}
	}
}

func TestLateAndForeignRepliesAreCountedAndDropped(t *testing.T) {
	m := start(t, "late", nil)
	for range 2 {
		if reply := mustCall(t, m, `{}`, nil); !strings.Contains(string(reply.Result), "done") {
			t.Fatal(string(reply.Result))
		}
	}
	if late := m.Stats().Late; late < 5 {
		t.Errorf("%d late replies", late)
	}
}

func TestAnAnswerWithNeitherResultNorErrorFailsTheCall(t *testing.T) {
	if _, err := call(t, start(t, "neither", nil), `{}`, nil); hub.CodeOf(err) != hub.CodeUnavailable {
		t.Fatal(err)
	}
}

func TestCancellationReturnsAtOnceAndTellsTheServer(t *testing.T) {
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
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := m.Call(ctx, "tools/call", []byte("{\n}"), hub.Span{}, nil)
		failed <- err
	}()
	if got := <-lines; got != `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`+"\n" {
		t.Errorf("sent %q", got)
	}
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := <-lines; !strings.Contains(got, `"notifications/cancelled","params":{"requestId":1,`) {
		t.Errorf("sent %q", got)
	}
	m.Close(io.EOF)
	inR.Close()
	outW.Close()
	<-ended
}

func TestARequestOfTheServerReachesTheOnlyCallInFlight(t *testing.T) {
	m := start(t, "ask", nil)
	sink := &recorder{ask: func(_ context.Context, method string, params json.RawMessage) (hub.Reply, error) {
		if method != "elicitation/create" || !strings.Contains(string(params), "Sure?") {
			return hub.Reply{}, fmt.Errorf("asked %s %s", method, params)
		}
		return hub.Reply{Result: []byte(`{"action":"accept","n":9007199254740993}`)}, nil
	}}
	reply := mustCall(t, m, `{}`, sink)
	if !strings.Contains(string(reply.Result), `"result":{"action":"accept","n":9007199254740993}`) {
		t.Fatal(string(reply.Result))
	}
}

func TestARequestThatSeveralCallsCouldOwnIsRefused(t *testing.T) {
	m := start(t, "ask", nil)
	var asked atomic.Int64
	sink := &recorder{ask: func(ctx context.Context, _ string, _ json.RawMessage) (hub.Reply, error) {
		asked.Add(1)
		<-ctx.Done()
		return hub.Reply{}, ctx.Err()
	}}
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan struct{})
	go func() { // stays in flight
		defer close(first)
		_, _ = m.Call(ctx, "tools/call", nil, hub.Span{}, sink)
	}()
	for asked.Load() == 0 {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("never asked")
		}
	}
	reply := mustCall(t, m, `{}`, sink)
	if !strings.Contains(string(reply.Result), `"code":-32000`) || asked.Load() != 1 {
		t.Errorf("%s, asked %d times", reply.Result, asked.Load())
	}
	cancel()
	<-first
}

func TestAFloodIsBoundedAndWarnedOfOnce(t *testing.T) {
	for kind, name := range []string{"progress", "log", "unknown", "requests"} {
		if kind == 0 {
			continue // belongs to the call, see the slow sink
		}
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int64
			m := start(t, "flood", func(o *wire.MuxOptions) {
				o.OnNotification = func(string, json.RawMessage) { seen.Add(1) }
			})
			began := time.Now()
			mustCall(t, m, fmt.Sprintf(`{"arguments":{"kind":%d}}`, kind), nil)
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
			if seen.Load() > 10_000 {
				t.Errorf("%d of 100,000 notifications passed", seen.Load())
			}
		})
	}
}

func TestAServerThatDoesNotReadFailsTheCallAtItsDeadlineAndThenTheConnection(t *testing.T) {
	m := start(t, "deaf", func(o *wire.MuxOptions) { o.WriteTimeout = 500 * time.Millisecond })
	if _, err := m.Call(context.Background(), "tools/list", nil, hub.Span{}, nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	params := `{"arguments":{"text":"` + strings.Repeat("x", 200_000) + `"}}`
	_, err := m.Call(ctx, "tools/call", []byte(params), hub.Span{}, nil)
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 400*time.Millisecond {
		t.Errorf("%v after %v", err, took)
	}
	select {
	case <-m.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("the connection goes on")
	}
	if !strings.Contains(m.Err().Error(), "stopped reading") {
		t.Error(m.Err())
	}
}

func TestWhenTheServerEndsEveryCallFailsOnce(t *testing.T) {
	m := start(t, "exit-call", nil)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, err := call(t, m, `{}`, nil); hub.CodeOf(err) != hub.CodeUnavailable {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := call(t, m, `{}`, nil); hub.CodeOf(err) != hub.CodeUnavailable {
		t.Error(err)
	}
}

func BenchmarkCall(b *testing.B) {
	for _, size := range []int{60, 10 << 10, 1 << 20} {
		for _, parallel := range []int{1, 32} {
			b.Run(fmt.Sprintf("%dB/x%d", size, parallel), func(b *testing.B) {
				m := start(b, "echo", nil)
				params := []byte(`{"name":"echo","arguments":{"text":"` + strings.Repeat("x", size) + `"}}`)
				b.ReportAllocs()
				b.SetParallelism(parallel)
				run := func() {
					reply, err := m.Call(context.Background(), "tools/call", params, hub.Span{}, nil)
					if err != nil || len(reply.Result) < size {
						fmt.Fprintln(os.Stderr, err)
						b.Fail()
					}
				}
				if parallel == 1 {
					for b.Loop() {
						run()
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						run()
					}
				})
			})
		}
	}
}
