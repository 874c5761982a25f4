package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// maxServerRequests is the maximum number of unanswered requests of one server.
const maxServerRequests = 16

// serverRequestTable holds the unanswered requests of the server.
type serverRequestTable struct {
	wg sync.WaitGroup // counts the answering goroutines

	mu      sync.Mutex
	running map[string]context.CancelFunc // by the raw id of the server; an entry is nil while it waits, the map is nil once closed
	spawned int
}

// reserve registers a waiting request. It refuses a duplicate id and more than maxServerRequests
// requests.
func (t *serverRequestTable) reserve(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.running[id]; ok || t.running == nil || len(t.running) >= maxServerRequests {
		return false
	}
	t.running[id] = nil
	return true
}

// begin marks a reserved request as running; the caller starts a goroutine that calls wg.Done. It
// reports false if the server cancelled the request meanwhile.
func (t *serverRequestTable) begin(id string, cancel context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.running[id]; !ok {
		return false
	}
	t.running[id] = cancel
	t.wg.Add(1) // under the lock, because cancelAll precedes the wait
	return true
}

// spawn runs f in a goroutine that wg counts, unless the maximum number of answers is in progress
// or the table is closed.
func (t *serverRequestTable) spawn(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil || t.spawned >= maxServerRequests {
		return false
	}
	t.spawned++
	t.wg.Go(func() {
		f()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.spawned--
	})
	return true
}

// end removes a request and reports whether it was still pending.
func (t *serverRequestTable) end(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.running[id]
	delete(t.running, id)
	return ok
}

func (t *serverRequestTable) cancel(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.running[id]; cancel != nil {
		cancel()
	}
	delete(t.running, id)
}

func (t *serverRequestTable) cancelAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.running {
		if cancel != nil {
			cancel()
		}
	}
	t.running = nil
}

// handleRequest passes a request of the server to the call that it belongs to.
func (m *Mux) handleRequest(data []byte, env Envelope) {
	in := inbound{kind: inboundRequest, method: env.Method, id: copyUnlessOwned(data, env.ID, false)}
	if env.Method == "ping" {
		m.respond(in.id, core.Reply{Result: []byte("{}")})
		return
	}
	params := Bytes(data, env.Params)
	p, err := ScanParams(params)
	if err != nil {
		m.refuse(in.id, CodeInvalidParams, "invalid params: "+err.Error())
		return
	}
	in.params = bytes.Clone(params)
	var pc *pendingCall
	if !p.ProgressToken.Empty() {
		pc = m.callByToken(Bytes(params, p.ProgressToken))
	}
	if pc == nil {
		pc = m.onlyPendingCall()
	}
	owned := pc != nil && pc.sink != nil
	if (owned || m.o.OnRequest != nil) && !m.serverRequests.reserve(string(in.id)) {
		m.stats.dropped.Add(1)
		m.refuse(in.id, CodeRefused, "too many requests")
		return
	}
	if owned {
		if !m.deliver(pc, in) {
			m.refuseUnprocessed([]inbound{in})
		}
		return
	}
	if m.o.OnRequest == nil {
		m.refuse(in.id, CodeRefused, "no client to ask: the request cannot be attributed to a single call")
		return
	}
	m.answerRequest(context.Background(), m.o.OnRequest, in)
}

type requestHandler func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)

// refuseUnprocessed refuses the requests among the messages that a call did not process.
func (m *Mux) refuseUnprocessed(left []inbound) {
	for _, in := range left {
		if in.kind == inboundRequest && m.serverRequests.end(string(in.id)) {
			m.refuse(in.id, CodeRefused, "the call that this belongs to has ended")
		}
	}
}

// answerRequest answers a reserved request of the server in its own goroutine.
func (m *Mux) answerRequest(ctx context.Context, to requestHandler, in inbound) {
	ctx, cancel := context.WithCancel(ctx)
	id := string(in.id)
	if !m.serverRequests.begin(id, cancel) {
		cancel()
		return
	}
	go func() {
		defer m.serverRequests.wg.Done()
		defer cancel()
		reply, err := to(ctx, in.method, in.params)
		if !m.serverRequests.end(id) { // the server cancelled it or exited
			return
		}
		switch {
		case err != nil:
			message, _ := core.Describe(err)
			m.refuse(in.id, CodeRefused, message)
		case len(reply.Result) == 0 && len(reply.Error) == 0:
			m.refuse(in.id, CodeInternal, "no answer")
		default:
			m.respond(in.id, reply)
		}
	}()
}

// handleRequestCancelled cancels a request that the server has cancelled.
func (m *Mux) handleRequestCancelled(params []byte) {
	if p, err := ScanParams(params); err == nil {
		m.serverRequests.cancel(string(Bytes(params, p.RequestID)))
	}
}

func (m *Mux) refuse(id []byte, code int, message string) {
	m.respond(id, core.Reply{Error: ErrorObject(code, message, nil)})
}

// respond never blocks: a server that sends requests without reading loses responses.
func (m *Mux) respond(id []byte, reply core.Reply) {
	sent := m.out.tryEnqueue(len(id)+len(reply.Result)+len(reply.Error)+64, func(dst []byte) []byte {
		if len(reply.Error) > 0 {
			return AppendErrorObject(dst, id, removeNewlines(reply.Error))
		}
		return AppendResult(dst, id, removeNewlines(reply.Result))
	})
	if !sent {
		m.stats.dropped.Add(1)
	}
}
