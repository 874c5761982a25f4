package bridge

import (
	"bytes"
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

// suspendedCall is a call of a modern client that runs beside the HTTP request which
// brought it, because a legacy server may ask the client something on the way. A
// modern client cannot be asked: it is answered that input is required, together
// with a state, and sends its request again with both. So the call is put aside,
// the server waits, and the repeated request takes the call up where it stood.
//
// An errand is the core.Sink of its call.
type suspendedCall struct {
	bridge *Bridge
	server string
	rq     *request // the first one
	can    clientCapabilities
	cancel context.CancelCauseFunc
	wake   chan struct{} // holds one signal when there may be questions
	done   chan struct{} // closed when reply and err are there
	reply  core.Reply
	err    error

	mu    sync.Mutex
	front *callSink // of the HTTP request that waits; nil while the call is put aside
	again bool      // front is not the one that began
	open  []*question
	asked int
}

// question is what the server wants to know.
type question struct {
	key    string
	method string
	params json.RawMessage
	answer chan core.Reply // holds one
}

// interactive are the methods to which a modern client expects to be asked for input.
var interactive = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// call runs a call for rq. In the modern era the result may be that input is required.
func (b *Bridge) call(ctx context.Context, rq *request, call *core.Call, front *callSink) (core.Reply, error) {
	front.server = call.Server
	if rq.era != core.Modern || !interactive[rq.method] || emptyObject(rq.capabilities) {
		b.resolveWorkspace(ctx, rq, call, front)
		return b.Gateway.Call(ctx, call, front)
	}
	can := parseClientCapabilities(rq.capabilities)
	if can == (clientCapabilities{}) {
		b.resolveWorkspace(ctx, rq, call, front)
		return b.Gateway.Call(ctx, call, front)
	}
	run := core.NewLife(context.WithoutCancel(ctx))
	e := &suspendedCall{
		bridge: b, server: call.Server, rq: rq, can: can, cancel: run.End, front: front,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	stop := context.AfterFunc(b.ended, func() { run.End(errStopped) })
	b.runTracked(func() {
		defer run.End(nil)
		defer stop()
		defer close(e.done)
		defer func() {
			if p := recover(); p != nil { // nobody above us would
				b.Log.Error("A call made the bridge panic", "method", rq.method, "panic", p, "stack", string(debug.Stack()))
				e.err = core.Errorf(core.CodeInternal, "something went wrong inside Drawbridge")
			}
		}()
		b.resolveWorkspace(run, rq, call, e)
		e.reply, e.err = b.Gateway.Call(run, call, e)
	})
	return e.wait(ctx)
}

// emptyObject reports whether raw is {} as most clients write it, or nothing at all.
func emptyObject(raw []byte) bool { return len(raw) == 0 || string(raw) == "{}" }

// wait waits for the end of the call or for a question, on behalf of the HTTP request
// of e.front. When that request ends first, the call does, too.
func (e *suspendedCall) wait(ctx context.Context) (core.Reply, error) {
	for {
		select {
		case <-e.done:
			return e.reply, e.err
		case <-e.wake:
			if result := e.suspend(); result != nil {
				return core.Reply{Result: result}, nil
			}
		case <-ctx.Done():
			e.cancel(context.Cause(ctx))
			<-e.done
			return e.reply, e.err
		}
	}
}

// suspend lets go of the HTTP request and returns what it is answered: the open
// questions and the state that leads back here. It returns nil when there is nothing
// to ask, or when too many calls have been put aside already.
func (e *suspendedCall) suspend() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.open) == 0 { // the server took them back
		return nil
	}
	state, ok := e.bridge.suspended.add(e, e.bridge.AskTimeout)
	if !ok {
		for _, q := range e.open {
			q.answer <- notAskedReply("too many calls of this client wait for its input")
		}
		e.open = nil
		return nil
	}
	e.front = nil
	out := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, q := range e.open {
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

// Notify implements core.Sink. What comes while the call is put aside has nobody to
// go to.
func (e *suspendedCall) Notify(method string, params json.RawMessage) {
	e.mu.Lock()
	front, again := e.front, e.again
	e.mu.Unlock()
	if front == nil {
		return
	}
	if again && method == "notifications/progress" {
		// The repeated request brought a token of its own, or wants no progress.
		token := wire.Bytes(front.rq.params, front.rq.spans.ProgressToken)
		p, err := wire.ScanParams(params)
		if err != nil || len(token) == 0 {
			return
		}
		params = wire.Splice(nil, params, wire.Edit{Span: p.Progress, With: token})
	}
	front.Notify(method, params)
}

// Ask implements core.Sink.
func (e *suspendedCall) Ask(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
	if missing := e.can.missingFor(method, params); missing != "" {
		return e.bridge.askUser(ctx, e.server, e.rq, method, params, missing)
	}
	q := &question{method: method, params: params, answer: make(chan core.Reply, 1)}
	e.mu.Lock()
	e.asked++
	q.key = "input-" + strconv.Itoa(e.asked)
	e.open = append(e.open, q)
	e.mu.Unlock()
	e.signal()
	select {
	case reply := <-q.answer:
		return reply, nil
	case <-ctx.Done():
		e.mu.Lock()
		defer e.mu.Unlock()
		for i, other := range e.open {
			if other == q {
				e.open = append(e.open[:i:i], e.open[i+1:]...)
			}
		}
		return core.Reply{}, context.Cause(ctx)
	}
}

func (e *suspendedCall) signal() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// resume takes up the call that a repeated request belongs to. It reports false for
// a state that is not ours: then it is the server's own.
func (b *Bridge) resume(ctx context.Context, rq *request, front *callSink) (reply core.Reply, err error, is bool) {
	state, ok := wire.Unquote(wire.Bytes(rq.params, rq.spans.RequestState))
	if !ok || !strings.HasPrefix(state, statePrefix) {
		return core.Reply{}, nil, false
	}
	answers, err := inputResponses(wire.Bytes(rq.params, rq.spans.InputResponses))
	if err != nil {
		return core.Reply{}, err, true
	}
	e := b.suspended.claim(state, rq)
	if e != nil && !b.canSee(rq) {
		e.cancel(errOutside)
		e = nil
	}
	if e == nil {
		return core.Reply{}, core.Errorf(core.CodeValidation, "the requestState is unknown, used up or expired: send the request anew"), true
	}
	front.server = e.server
	e.mu.Lock()
	e.front, e.again = front, true
	var left []*question
	for _, q := range e.open {
		if answer, ok := answers[q.key]; ok {
			q.answer <- core.Reply{Result: answer}
		} else {
			left = append(left, q)
		}
	}
	e.open = left
	e.mu.Unlock()
	e.signal() // what was not answered is asked again
	reply, err = e.wait(ctx)
	return reply, err, true
}

// inputResponses reads the answers of a client. Each is the result of a request.
func inputResponses(raw []byte) (map[string]json.RawMessage, error) {
	answers := map[string]json.RawMessage{}
	if len(raw) == 0 {
		return answers, nil
	}
	wrong := core.Errorf(core.CodeValidation, "inputResponses must hold an object for each input")
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

// statePrefix tells our states from those of servers, also after a restart. What
// follows is random and means nothing without our table.
const statePrefix = "drawbridge:"

// suspendedCalls are the calls that wait for their client to come back. The zero value is
// ready.
type suspendedCalls struct {
	mu      sync.Mutex
	byState map[string]*suspendedEntry
}

// suspendedEntry is one errand that is put aside: who may take it up, with which request.
type suspendedEntry struct {
	*suspendedCall
	timer  *time.Timer
	digest [sha256.Size]byte
}

// How many calls may be put aside, together and by one client.
const (
	maxSuspended         = 256
	maxSuspendedPerToken = 32
)

// add puts an errand aside and makes the one state that leads back to it. After
// limit it is given up, and the server is told.
func (t *suspendedCalls) add(e *suspendedCall, limit time.Duration) (state string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	same := 0
	for _, other := range t.byState {
		if other.rq.client.Token == e.rq.client.Token {
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
	a := &suspendedEntry{suspendedCall: e, digest: requestDigest(e.rq)}
	a.timer = time.AfterFunc(limit, func() {
		if t.remove(state) {
			e.cancel(errNoInput)
		}
	})
	t.byState[state] = a
	return state, true
}

var errOutside = core.Errorf(core.CodeCancelled, "the client may not use this any more")

var errNoInput = core.Errorf(core.CodeTimeout, "the client did not come back with its input in time")

func (t *suspendedCalls) remove(state string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.byState[state]
	delete(t.byState, state)
	return ok
}

// claim finds the errand of a state and uses the state up. To another client, at
// another address or with another request it is as unknown as one that never was,
// and stays.
func (t *suspendedCalls) claim(state string, rq *request) *suspendedCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.byState[state]
	if a == nil || a.rq.client.Token != rq.client.Token || a.rq.at != rq.at || a.digest != requestDigest(rq) {
		return nil
	}
	a.timer.Stop()
	delete(t.byState, state)
	return a.suspendedCall
}

// requestDigest is of what a request asks for: its method and params, without what differs
// when it is repeated. How its JSON is written makes no difference.
func requestDigest(rq *request) [sha256.Size]byte {
	decoder := json.NewDecoder(bytes.NewReader(rq.params))
	decoder.UseNumber()
	var params map[string]any
	_ = decoder.Decode(&params)
	for _, key := range []string{"_meta", "inputResponses", "requestState"} {
		delete(params, key)
	}
	canonical, _ := json.Marshal(params)
	return sha256.Sum256(append([]byte(rq.method+"\n"), canonical...))
}
