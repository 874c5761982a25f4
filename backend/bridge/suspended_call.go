package bridge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// suspendedCall is a call of a modern client that can outlive the HTTP request that started
// it. A legacy server may send requests to the client during a call, but a modern client
// cannot receive requests: its request is answered with resultType input_required and a
// requestState, and the client repeats the request with its input and the state. Between the
// two requests the call is suspended: the server waits, and the repeated request resumes it.
//
// A suspendedCall is the core.ServerMessageHandler of its call.
type suspendedCall struct {
	calls        *calls
	server       string
	rq           *request // the request that started the call
	capabilities clientCapabilities
	cancel       context.CancelCauseFunc
	wake         chan struct{} // has a buffer of one; signals that there may be open questions
	done         chan struct{} // closed when reply and err are set
	reply        core.Reply
	err          error

	mu            sync.Mutex
	sink          *callMessageHandler // the sink of the waiting HTTP request; nil while the call is suspended
	repeated      bool                // sink belongs to a repeated request
	questions     []*question
	questionCount int
}

// question is one request from the server to the client.
type question struct {
	key    string
	method string
	params json.RawMessage
	answer chan core.Reply // has a buffer of one
}

// runSuspendable runs a call whose server may ask the client. The call goes on when its HTTP request
// ends with a question, so it has a context of its own.
func (cs *calls) runSuspendable(ctx context.Context, rq *request, call *core.Call, sink *callMessageHandler, can clientCapabilities) (core.Reply, error) {
	callCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	sc := &suspendedCall{
		calls: cs, server: call.Server, rq: rq, capabilities: can, cancel: cancel, sink: sink,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	stop := context.AfterFunc(cs.lifetime, func() { cancel(errStopped) })
	cs.run(func() {
		defer cancel(nil)
		defer stop()
		defer close(sc.done)
		defer func() {
			if p := recover(); p != nil { // no caller above recovers
				cs.Log.Error("Panic during a call", "method", rq.method, "panic", p, "stack", string(debug.Stack()))
				sc.err = core.Errorf(core.CodeInternal, "internal error. See the log for details: drawbridge logs")
			}
		}()
		cs.resolveWorkspace(callCtx, rq, call, sc)
		sc.reply, sc.err = cs.Gateway.Call(callCtx, call, sc)
	})
	return sc.waitForResult(ctx)
}

// emptyObject reports whether raw is empty or {}.
func emptyObject(raw []byte) bool { return len(raw) == 0 || string(raw) == "{}" }

// waitForResult waits for the end of the call or for a question, on behalf of the HTTP request of
// sc.sink. If that request ends first, the call is cancelled.
func (sc *suspendedCall) waitForResult(ctx context.Context) (core.Reply, error) {
	for {
		select {
		case <-sc.done:
			return sc.reply, sc.err
		case <-sc.wake:
			if result := sc.suspend(); result != nil {
				return core.Reply{Result: result}, nil
			}
		case <-ctx.Done():
			sc.cancel(context.Cause(ctx))
			<-sc.done
			return sc.reply, sc.err
		}
	}
}

// suspend detaches the call from its HTTP request and returns the result for that request:
// the open questions and the state that resumes the call. It returns nil when no question is
// open, or when too many calls are suspended already.
func (sc *suspendedCall) suspend() []byte {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if len(sc.questions) == 0 { // the server cancelled them
		return nil
	}
	state, ok := sc.calls.suspended.add(sc, sc.calls.AskTimeout)
	if !ok {
		for _, q := range sc.questions {
			q.answer <- cannotAskReply("too many calls from this client are waiting for its input")
		}
		sc.questions = nil
		return nil
	}
	sc.sink = nil
	out := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, q := range sc.questions {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(wire.AppendString(out, q.key), `:{"method":`...)
		out = wire.AppendString(out, q.method)
		if len(q.params) > 0 {
			out = append(append(out, `,"params":`...), q.params...)
		}
		out = append(out, '}')
	}
	return append(wire.AppendString(append(out, `},"requestState":`...), state), '}')
}

// Notify implements core.ServerMessageHandler. Notifications that arrive while the call is
// suspended are dropped.
func (sc *suspendedCall) Notify(method string, params json.RawMessage) {
	sc.mu.Lock()
	sink, repeated := sc.sink, sc.repeated
	sc.mu.Unlock()
	if sink == nil {
		return
	}
	if repeated && method == "notifications/progress" {
		// The repeated request has its own progress token, or none.
		token := wire.Bytes(sink.rq.params, sink.rq.spans.ProgressToken)
		p, err := wire.ScanParams(params)
		if err != nil || len(token) == 0 {
			return
		}
		params = wire.Splice(nil, params, wire.Edit{Span: p.NotifiedProgressToken, With: token})
	}
	sink.Notify(method, params)
}

// Ask implements core.ServerMessageHandler.
func (sc *suspendedCall) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	if missing := sc.capabilities.missingFor(method, params); missing != "" {
		return sc.calls.askUser(ctx, sc.server, sc.rq, method, params, missing)
	}
	q := &question{method: method, params: params, answer: make(chan core.Reply, 1)}
	sc.mu.Lock()
	sc.questionCount++
	q.key = "input-" + strconv.Itoa(sc.questionCount)
	sc.questions = append(sc.questions, q)
	sc.mu.Unlock()
	sc.wakeWaiter()
	select {
	case reply := <-q.answer:
		return reply, nil
	case <-ctx.Done():
		sc.mu.Lock()
		defer sc.mu.Unlock()
		for i, other := range sc.questions {
			if other == q {
				sc.questions = append(sc.questions[:i:i], sc.questions[i+1:]...)
			}
		}
		return core.Reply{}, context.Cause(ctx)
	}
}

func (sc *suspendedCall) wakeWaiter() {
	select {
	case sc.wake <- struct{}{}:
	default:
	}
}

// resume continues the suspended call that a repeated request belongs to. found is false if the
// requestState was issued by the server rather than by the bridge.
func (cs *calls) resume(ctx context.Context, rq *request, sink *callMessageHandler) (reply core.Reply, found bool, err error) {
	state, ok := wire.Unquote(wire.Bytes(rq.params, rq.spans.RequestState))
	if !ok || !strings.HasPrefix(state, statePrefix) {
		return core.Reply{}, false, nil
	}
	answers, err := inputResponses(wire.Bytes(rq.params, rq.spans.InputResponses))
	if err != nil {
		return core.Reply{}, true, err
	}
	sc := cs.suspended.claim(state, rq)
	if sc != nil && !cs.views.canSee(rq) {
		sc.cancel(errNoLongerVisible)
		sc = nil
	}
	if sc == nil {
		return core.Reply{}, true, core.Errorf(core.CodeValidation, "the requestState is unknown, already used or expired: send the original request again")
	}
	sink.server, rq.storedCallID, rq.singleCopy = sc.server, sc.rq.storedCallID, sc.rq.singleCopy
	sc.mu.Lock()
	sc.sink, sc.repeated = sink, true
	var left []*question
	for _, q := range sc.questions {
		if answer, ok := answers[q.key]; ok {
			q.answer <- core.Reply{Result: cs.views.ownAnswer(rq, sc.server, answer)}
		} else {
			left = append(left, q)
		}
	}
	sc.questions = left
	sc.mu.Unlock()
	sc.wakeWaiter() // unanswered questions are asked again
	reply, err = sc.waitForResult(ctx)
	return reply, true, err
}

// inputResponses parses the client's answers, by key. Each answer is the result object of one
// request.
func inputResponses(raw []byte) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return answers, nil
	}
	wrong := core.Errorf(core.CodeValidation, "inputResponses must have an object for each input")
	if raw[0] != '{' {
		return nil, wrong
	}
	err := wire.Members(raw, func(m wire.Member) error {
		answer := wire.Bytes(raw, m.Value)
		if answer[0] != '{' {
			return wrong
		}
		answers[string(m.Name)] = answer
		return nil
	})
	if err != nil {
		return nil, wrong
	}
	return answers, nil
}

// statePrefix distinguishes our request states from those of servers, even after a restart. The
// rest of a state is random.
const statePrefix = "drawbridge:"

// suspendedCalls holds the calls that wait for a repeated request, by their states. The zero
// value is ready to use.
type suspendedCalls struct {
	mu      sync.Mutex
	byState map[string]*suspendedEntry
}

// suspendedEntry is one suspended call and the digest of the only request that may resume it.
type suspendedEntry struct {
	*suspendedCall
	timer  *time.Timer
	digest [sha256.Size]byte
}

// Limits of suspended calls: in total and for each client.
const (
	maxSuspended         = 256
	maxSuspendedPerToken = 32
)

// add stores a suspended call and returns the state that resumes it, once. After limit the
// call is cancelled. ok is false when there are too many.
func (t *suspendedCalls) add(sc *suspendedCall, limit time.Duration) (state string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := 0
	for _, other := range t.byState {
		if other.rq.client.Token == sc.rq.client.Token {
			same++
		}
	}
	if len(t.byState) >= maxSuspended || same >= maxSuspendedPerToken {
		return "", false
	}
	if t.byState == nil {
		t.byState = map[string]*suspendedEntry{}
	}
	state = statePrefix + rand.Text()
	entry := &suspendedEntry{suspendedCall: sc, digest: requestDigest(sc.rq)}
	entry.timer = time.AfterFunc(limit, func() {
		if t.remove(state) {
			sc.cancel(errInputTimeout)
		}
	})
	t.byState[state] = entry
	return state, true
}

var errNoLongerVisible = core.Errorf(core.CodeRejected, "the client no longer has access to what it requested")

var errInputTimeout = core.Errorf(core.CodeTimeout, "the client did not send its input in time")

func (t *suspendedCalls) remove(state string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.byState[state]
	delete(t.byState, state)
	return ok
}

// claim removes and returns the call of a state. It returns nil, and keeps the call, if the
// state is unknown or the request is not a repetition by the same client at the same endpoint.
func (t *suspendedCalls) claim(state string, rq *request) *suspendedCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.byState[state]
	if entry == nil || entry.rq.client.Token != rq.client.Token || entry.rq.endpoint != rq.endpoint || entry.digest != requestDigest(rq) {
		return nil
	}
	entry.timer.Stop()
	delete(t.byState, state)
	return entry.suspendedCall
}

// requestDigest hashes the method and params of a request, without the members that differ
// when it is repeated. Equal JSON values give equal digests, however they are written.
func requestDigest(rq *request) [sha256.Size]byte {
	var params map[string]any
	_ = core.DecodeJSON(rq.params, &params)
	for _, key := range []string{"_meta", "inputResponses", "requestState"} {
		delete(params, key)
	}
	canonical, _ := json.Marshal(params)
	return sha256.Sum256(append([]byte(rq.method+"\n"), canonical...))
}
