package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type sendFunc func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error)

func (f sendFunc) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	return f(ctx, call, sink)
}

// fixture is a gateway with fakes for everything around it.
type fixture struct {
	*Gateway
	plan       policy.Plan
	admitErr   error
	listedErr  error
	findErr    error
	startDelay time.Duration
	send       sendFunc
	bus        core.Bus

	mu       sync.Mutex
	recorded []core.Call
	replies  []core.Reply
}

func (f *fixture) Admit(context.Context, *core.Call, core.ServerMessageHandler) (policy.Plan, error) {
	return f.plan, f.admitErr
}
func (f *fixture) Readmit(*core.Call, policy.Plan, core.ServerMessageHandler) error {
	return f.listedErr
}
func (f *fixture) Watch(ctx context.Context, _ *core.Call, _ policy.Plan, _ core.ServerMessageHandler) (context.Context, func() error) {
	return ctx, func() error { return nil }
}
func (f *fixture) End(policy.Plan, core.Reply, error, bool) {}
func (f *fixture) For(_ context.Context, call *core.Call) (Upstream, error) {
	if f.startDelay > 0 {
		time.Sleep(f.startDelay) // inside a synctest bubble
	}
	if f.findErr != nil {
		return nil, f.findErr
	}
	call.Instance = "files#1"
	return f.send, nil
}
func (f *fixture) Record(call *core.Call, reply core.Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorded, f.replies = append(f.recorded, *call), append(f.replies, reply)
}

func newFixture() *fixture {
	f := &fixture{plan: policy.Plan{Timeout: 30 * time.Second, Ceiling: 10 * time.Minute, TimeoutKey: "requestTimeoutMs", CeilingKey: "maxRequestMs"}}
	f.send = replyWith(`{"content":[]}`)
	f.Gateway = New(Options{Upstreams: f, Policy: f, Recorder: f, Bus: &f.bus})
	return f
}

func replyWith(result string) sendFunc {
	return func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{Result: json.RawMessage(result)}, nil
	}
}

func toolCall() *core.Call {
	return &core.Call{Server: "files", Method: "tools/call", Name: "read", Params: json.RawMessage(`{"name":"read"}`)}
}

func TestEveryOutcomeIsRecorded(t *testing.T) {
	unavailable := &core.Error{Code: core.CodeUnavailable, Message: "server is away"}
	for name, c := range map[string]struct {
		set     func(*fixture)
		outcome core.Outcome
		code    core.Code
		reason  string
		out     int
	}{
		"ok":          {func(f *fixture) {}, core.OutcomeOK, "", "", 14},
		"tool error":  {func(f *fixture) { f.send = replyWith(`{"content":[],"isError":true}`) }, core.OutcomeToolError, "", `{"content":[],"isError":true}`, 29},
		"rpc error":   {func(f *fixture) { f.send = rpcError }, core.OutcomeProtocolError, "", "no such thing", 41},
		"broken":      {func(f *fixture) { f.send = failWith(errors.New("pipe /home/me broke")) }, core.OutcomeProtocolError, core.CodeInternal, "internal error", 0},
		"refused":     {func(f *fixture) { f.admitErr = core.Errorf(core.CodeNotFound, "no tool") }, core.OutcomeRejected, core.CodeNotFound, "no tool", 0},
		"not offered": {func(f *fixture) { f.plan.Unlisted, f.listedErr = true, core.Errorf(core.CodeNotFound, "no tool") }, core.OutcomeRejected, core.CodeNotFound, "no tool", 0},
		"unavailable": {func(f *fixture) { f.findErr = unavailable }, core.OutcomeProtocolError, core.CodeUnavailable, "server is away", 0},
		"cancelled":   {func(f *fixture) { f.send = failWith(context.Canceled) }, core.OutcomeCancelled, core.CodeCancelled, "the request was cancelled", 0},
		"taken back":  {func(f *fixture) { f.send = failWith(&wire.CancelledByServer{Reason: "not needed"}) }, core.OutcomeCancelled, core.CodeCancelled, "the request was cancelled", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			c.set(f)
			call := toolCall()
			reply, err := f.Call(context.Background(), call, nil)
			require.Len(t, f.recorded, 1)
			got := f.recorded[0]
			if got.Outcome != c.outcome || got.Code != c.code || got.Reason != c.reason || got.BytesOut != c.out || got.BytesIn != 15 {
				t.Errorf("recorded %+v", got)
			}
			if string(f.replies[0].Result) != string(reply.Result) || string(f.replies[0].Error) != string(reply.Error) {
				t.Errorf("recorded %s, answered %s", f.replies[0].Result, reply.Result)
			}
			assert.Equal(t, c.code != "", err != nil)
		})
	}
}

func rpcError(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
	return core.Reply{Error: json.RawMessage(`{"code":-32602,"message":"no such thing"}`)}, nil
}

func failWith(err error) sendFunc {
	return func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		return core.Reply{}, err
	}
}

func TestCallIDsIncreaseWhenClockStepsBack(t *testing.T) {
	at := time.UnixMicro(1000)
	f := newFixture()
	g := New(Options{Upstreams: f, Policy: f, Recorder: f, Bus: &f.bus, Now: func() time.Time { return at }, LastID: 5000})
	var ids []int64
	for range 3 {
		call := toolCall()
		_, _ = g.Call(context.Background(), call, nil)
		ids = append(ids, call.ID)
	}
	at = time.UnixMicro(9000)
	call := toolCall()
	_, _ = g.Call(context.Background(), call, nil)
	if ids = append(ids, call.ID); !slices.Equal(ids, []int64{5001, 5002, 5003, 9000}) {
		t.Fatalf("got %v", ids)
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				id := g.nextID(at)
				mu.Lock()
				assert.False(t, seen[id], "the same id twice")
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestObserversSeeCallFromItsStart(t *testing.T) {
	f := newFixture()
	sub := f.bus.Subscribe(4)
	defer sub.Close()
	_, _ = f.Call(context.Background(), toolCall(), nil)
	first, second := (<-sub.Events()).Data.(core.Call), (<-sub.Events()).Data.(core.Call)
	if first.Outcome != core.OutcomeRunning || second.Outcome != core.OutcomeOK || first.ID != second.ID || first.Name != "read" {
		t.Fatalf("got %+v, then %+v", first, second)
	}
}

func TestServerRequestWithoutClientGetsError(t *testing.T) {
	f := newFixture()
	f.send = func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		sink.Notify("notifications/message", nil)
		reply, err := sink.Ask(ctx, "roots/list", nil)
		assert.NoError(t, err)
		assert.NotEmpty(t, reply.Error)
		return core.Reply{Result: json.RawMessage(`{}`)}, nil
	}
	_, err := f.Call(context.Background(), toolCall(), nil)
	require.NoError(t, err)
}

func TestIsErrorIsReadWithoutDecoding(t *testing.T) {
	for result, want := range map[string]bool{
		`{"isError":true}`:                             true,
		`{ "isError" :` + "\n" + `true}`:               true,
		`{"isError":false}`:                            false,
		`{"content":[{"isError":true}]}`:               false,
		`{"structuredContent":{"isError":true}}`:       false,
		`{"a":"\"isError\":true"}`:                     false,
		`{"a":"x\\","isError":true}`:                   true,
		`{"a":"\"isError\":true","isError":true}`:      true,
		`{"isError":"true"}`:                           false,
		`{"a":"isError","b":true}`:                     false,
		`{"isError":true,"isError":false}`:             false,
		`{"content":[{"text":"}]"}],"isError":true}`:   true,
		`{"content":[{"text":"{{["}],"isError":false}`: false,
		``: false, `{"isError"`: false, `{"isError":`: false, `"isError`: false,
	} {
		assert.Equal(t, want, isError([]byte(result)), result)
	}
}

func FuzzIsErrorAgreesWithTheDecoder(f *testing.F) {
	f.Add(`{"isError":true}`)
	f.Add(`{"content":[{"text":"\"isError\":true"}],"isError":false}`)
	f.Fuzz(func(t *testing.T, text string) {
		got := isError([]byte(text)) // never panics
		var result map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &result) != nil {
			return
		}
		raw, ok := result["isError"]
		want := ok && string(raw) == "true"
		require.Falsef(t, got != want && !slices.Contains([]byte(text), '\\'), "%q: %v", text, got)
	})
}

// discardRecorder is a Recorder that does nothing.
type discardRecorder struct{ *fixture }

func (discardRecorder) Record(*core.Call, core.Reply) {}

func TestCallAllocationsAreBounded(t *testing.T) {
	f := newFixture()
	g := New(Options{Upstreams: f, Policy: f, Recorder: discardRecorder{f}, Bus: &f.bus})
	call, ctx := toolCall(), context.Background()
	const most = 8 // contexts, timer, their closures, and the inFlightCall
	if n := testing.AllocsPerRun(200, func() { _, _ = g.Call(ctx, call, answeringSink{}) }); n > most {
		t.Fatalf("%v allocations, at most %d", n, most)
	}
}

func BenchmarkCall(b *testing.B) {
	f := newFixture()
	g := New(Options{Upstreams: f, Policy: f, Recorder: discardRecorder{f}, Bus: &f.bus})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := toolCall()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Call(ctx, call, answeringSink{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNonObjectResultIsProtocolError(t *testing.T) {
	for _, result := range []string{`null`, `[]`, `"done"`, `7`, ``} {
		f := newFixture()
		f.send = replyWith(result)
		_, err := f.Call(context.Background(), toolCall(), nil)
		assert.Errorf(t, err, "%q passes", result)
		got := f.recorded[0]
		assert.Truef(t, got.Outcome == core.OutcomeProtocolError && got.Code == core.CodeUnavailable, "%q: recorded %+v", result, got)
	}
	f := newFixture()
	f.send = replyWith(`null`)
	_, err := f.Call(context.Background(), &core.Call{Server: "files", Method: "resources/subscribe", Name: "a:b"}, nil)
	assert.NoError(t, err, "a subscription has no result that anybody reads")
}

func TestRepairedTextIsMarkedInRecord(t *testing.T) {
	for name, c := range map[string]struct {
		request, reply bool
		marked         bool
	}{"request": {true, false, true}, "reply": {false, true, true}, "neither": {false, false, false}} {
		f := newFixture()
		f.send = func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
			return core.Reply{Result: json.RawMessage(`{}`), Repaired: c.reply}, nil
		}
		call := toolCall()
		call.Repaired = c.request
		_, err := f.Call(context.Background(), call, nil)
		require.NoError(t, err)
		got := f.recorded[0]
		if got.Repaired != c.marked || (got.Reason == "invalid Unicode was replaced") != c.marked || got.Outcome != core.OutcomeOK {
			t.Errorf("%s: recorded %+v", name, got)
		}
	}
}

func TestServerRequestOutsideCallIsRecorded(t *testing.T) {
	f := newFixture()
	reply, err := f.Ask(context.Background(), &core.Call{Server: "files", Client: core.Client{Name: "cursor"}}, "elicitation/create", json.RawMessage(`{}`), answeringSink{0})
	require.NoError(t, err)
	require.Len(t, f.recorded, 1)
	if got := f.recorded[0]; !got.FromServer || got.Server != "files" || got.Client.Name != "cursor" || got.Outcome != core.OutcomeOK || got.ID == 0 ||
		string(f.replies[0].Result) != string(reply.Result) {
		t.Errorf("recorded %+v", got)
	}
}

func TestCallIsRunningUntilItEnds(t *testing.T) {
	f := newFixture()
	f.send = func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		list := f.Running()
		assert.Truef(t, len(list) == 1 && list[0].ID == call.ID && list[0].Name == "read" && list[0].Params == nil, "running: %+v", list)
		one, ok := f.RunningCall(call.ID)
		assert.Truef(t, ok && one.ID == call.ID, "the running call is not found: %+v", one)
		return core.Reply{}, errors.New("broken")
	}
	call := toolCall()
	_, _ = f.Call(context.Background(), call, nil)
	_, ok := f.RunningCall(call.ID)
	assert.True(t, !ok && len(f.Running()) <= 0, "the call still runs after it has ended")
}

// The wall clock is set between the start and the end of a call.
func TestClockStepDoesNotChangeDurations(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		f := newFixture()
		call := toolCall()
		call.Began = time.Now()
		call.At = call.Began.UTC().Add(-step) // the wall clock before the step
		_, err := f.Call(t.Context(), call, nil)
		require.NoError(t, err)
		took := f.recorded[0].Took
		assert.Truef(t, took >= 0 && took <= 10*time.Minute, "a step of %s makes a call take %s", step, took)
	}
}

// Drain waits neither for a call that waits for its server nor for a later one.
func TestDrainWaitsForInFlightCalls(t *testing.T) {
	t.Parallel()
	f := newFixture()
	sent, answers := make(chan struct{}), make(chan struct{})
	f.send = func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
		sent <- struct{}{}
		<-answers
		return core.Reply{Result: json.RawMessage(`{}`)}, nil
	}
	var calls sync.WaitGroup
	call := func() { _, _ = f.Call(t.Context(), toolCall(), nil) }
	calls.Go(call)
	<-sent
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	f.Drain(expired) // returns when ctx is done
	drained := make(chan struct{})
	go func() { defer close(drained); f.Drain(t.Context()) }()
	eventually.True(t, "Drain waits", func() bool {
		f.running.mu.Lock()
		defer f.running.mu.Unlock()
		return f.running.changed != nil
	})
	select {
	case <-drained:
		t.Fatal("drained while a call was in flight")
	default:
	}
	calls.Go(call)
	<-sent
	answers <- struct{}{} // ends either call; the other continues
	answers <- struct{}{}
	<-drained
	calls.Wait()
	f.Drain(t.Context()) // no call is left
}

// At debug level each call is logged, without its arguments and result.
func TestDebugLogListsEachCall(t *testing.T) {
	t.Parallel()
	f := newFixture()
	f.send = replyWith(`{"content":[{"type":"text","text":"a secret result"}]}`)
	for level, want := range map[slog.Level]int{slog.LevelDebug: 2, slog.LevelInfo: 0} {
		var log bytes.Buffer
		f.log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		f.admitErr = nil
		call := toolCall()
		call.Client.Name = "Cursor"
		call.Params = json.RawMessage(`{"name":"read","arguments":{"path":"a secret argument"}}`)
		_, _ = f.Call(t.Context(), call, nil)
		f.admitErr = core.Errorf(core.CodeNotFound, "there is no such tool")
		refused := toolCall()
		refused.Name = "a-secret-name"
		_, _ = f.Call(t.Context(), refused, nil)

		said := log.String()
		assert.Equalf(t, want, strings.Count(said, `msg="Call ended"`), "at %s", level)
		assert.NotContainsf(t, said, "secret", "at %s", level)
		if want > 0 && !(strings.Contains(said, "client=Cursor server=files method=tools/call outcome=ok took=") &&
			strings.Contains(said, "name=read") && strings.Contains(said, "outcome=rejected") && strings.Contains(said, "code=not_found")) {
			t.Errorf("at %s:\n%s", level, said)
		}
	}
}
