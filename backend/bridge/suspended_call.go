package bridge

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// suspendedCall is a call of a modern client that can outlive the HTTP request that started
// it. A legacy server may send requests to the client during a call, but a modern client
// cannot receive requests: its request is answered with resultType input_required and a
// requestState, and the client repeats the request with its input and the state. Between the
// two requests the call is suspended: the server waits, and the repeated request resumes it.
//
// A suspendedCall is the core.Sink of its call.
type suspendedCall struct {
	bridge *Bridge
	server string
	rq     *request // the request that started the call
	can    clientCapabilities
	cancel context.CancelCauseFunc
	wake   chan struct{} // has a buffer of one; signals that there may be open questions
	done   chan struct{} // closed when reply and err are set
	reply  core.Reply
	err    error

	mu    sync.Mutex
	front *callSink // the sink of the waiting HTTP request; nil while the call is suspended
	again bool      // front belongs to a repeated request
	open  []*question
	asked int
}

// question is one request from the server to the client.
type question struct {
	key    string
	method string
	params json.RawMessage
	answer chan core.Reply // has a buffer of one
}

// interactive lists the methods whose result may be input_required (MCP 2026-07-28).
var interactive = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// call runs a call for rq. In the modern era the result may be input_required.
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
			if p := recover(); p != nil { // no caller above recovers
				b.Log.Error("A call made the bridge panic", "method", rq.method, "panic", p, "stack", string(debug.Stack()))
				e.err = core.Errorf(core.CodeInternal, "something went wrong inside Drawbridge")
			}
		}()
		b.resolveWorkspace(run, rq, call, e)
		e.reply, e.err = b.Gateway.Call(run, call, e)
	})
	return e.wait(ctx)
}

// emptyObject reports whether raw is empty or {}.
func emptyObject(raw []byte) bool { return len(raw) == 0 || string(raw) == "{}" }

// wait waits for the end of the call or for a question, on behalf of the HTTP request of
// e.front. If that request ends first, the call is cancelled.
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

// suspend detaches the call from its HTTP request and returns the result for that request:
// the open questions and the state that resumes the call. It returns nil when no question is
// open, or when too many calls are suspended already.
func (e *suspendedCall) suspend() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.open) == 0 { // the server cancelled them
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

// Notify implements core.Sink. Notifications that arrive while the call is suspended are
// dropped.
func (e *suspendedCall) Notify(method string, params json.RawMessage) {
	e.mu.Lock()
	front, again := e.front, e.again
	e.mu.Unlock()
	if front == nil {
		return
	}
	if again && method == "notifications/progress" {
		// The repeated request has its own progress token, or none.
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

// resume continues the suspended call that a repeated request belongs to. ours is false if the
// requestState was issued by the server rather than by the bridge.
func (b *Bridge) resume(ctx context.Context, rq *request, front *callSink) (reply core.Reply, ours bool, err error) {
	state, ok := wire.Unquote(wire.Bytes(rq.params, rq.spans.RequestState))
	if !ok || !strings.HasPrefix(state, statePrefix) {
		return core.Reply{}, false, nil
	}
	answers, err := inputResponses(wire.Bytes(rq.params, rq.spans.InputResponses))
	if err != nil {
		return core.Reply{}, true, err
	}
	e := b.suspended.claim(state, rq)
	if e != nil && !b.canSee(rq) {
		e.cancel(errOutside)
		e = nil
	}
	if e == nil {
		return core.Reply{}, true, core.Errorf(core.CodeValidation, "the requestState is unknown, used up or expired: send the request anew")
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
	e.signal() // unanswered questions are asked again
	reply, err = e.wait(ctx)
	return reply, true, err
}

// inputResponses parses the client's answers, by key. Each answer is the result object of one
// request.
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
