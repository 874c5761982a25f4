package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// maxAsks is the maximum number of unanswered requests of one server.
const maxAsks = 16

// askTable holds the unanswered requests of the server.
type askTable struct {
	wg sync.WaitGroup // counts the answering goroutines

	mu      sync.Mutex
	running map[string]context.CancelFunc // by the raw id of the server; an entry is nil while it waits, the map is nil once closed
	spawned int
}

// reserve registers a waiting request. It refuses a duplicate id and more than maxAsks requests.
func (t *askTable) reserve(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.running[id]; ok || t.running == nil || len(t.running) >= maxAsks {
		return false
	}
	t.running[id] = nil
	return true
}

// begin marks a reserved request as running; the caller starts a goroutine that calls wg.Done. It
// reports false if the server cancelled the request meanwhile.
func (t *askTable) begin(id string, cancel context.CancelFunc) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.running[id]; !ok {
		return false
	}
	t.running[id] = cancel
	t.wg.Add(1) // under the lock, because cancelAll precedes the wait
	return true
}

// spawn runs f in a goroutine that wg counts, unless the maximum number of answers is in progress or
// the table is closed.
func (t *askTable) spawn(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running == nil || t.spawned >= maxAsks {
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
func (t *askTable) end(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.running[id]
	delete(t.running, id)
	return ok
}

func (t *askTable) cancel(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.running[id]; cancel != nil {
		cancel()
	}
	delete(t.running, id)
}

func (t *askTable) cancelAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.running {
		if cancel != nil {
			cancel()
		}
	}
	t.running = nil
}

// request passes a request of the server to the call that it belongs to.
func (m *Mux) request(data []byte, env Envelope) {
	in := inbound{kind: inAsk, method: env.Method, id: keep(data, env.ID, false)}
	if env.Method == "ping" {
		m.answer(in.id, core.Reply{Result: []byte("{}")})
		return
	}
	params := Bytes(data, env.Params)
	p, err := ScanParams(params)
	if err != nil {
		m.refuse(in.id, CodeInvalidParams, "invalid params: "+err.Error())
		return
	}
	in.params = bytes.Clone(params)
	var f *flight
	if !p.ProgressToken.Empty() {
		f = m.byToken(Bytes(params, p.ProgressToken))
	}
	if f == nil {
		f = m.onlyFlight()
	}
	owned := f != nil && f.sink != nil
	if (owned || m.o.OnRequest != nil) && !m.asks.reserve(string(in.id)) {
		m.stats.dropped.Add(1)
		m.refuse(in.id, CodeRefused, "too many requests")
		return
	}
	if owned {
		if !m.deliver(f, in) {
			m.takeBack([]inbound{in})
		}
		return
	}
	if m.o.OnRequest == nil {
		m.refuse(in.id, CodeRefused, "no client to ask: the request belongs to no call, or to one of several")
		return
	}
	m.ask(context.Background(), m.o.OnRequest, in)
}

type asker func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)

// takeBack refuses the requests among the messages that a call did not process.
func (m *Mux) takeBack(left []inbound) {
	for _, in := range left {
		if in.kind == inAsk && m.asks.end(string(in.id)) {
			m.refuse(in.id, CodeRefused, "the call that this belongs to has ended")
		}
	}
}

// ask answers a reserved request of the server in its own goroutine.
func (m *Mux) ask(ctx context.Context, to asker, in inbound) {
	ctx, cancel := context.WithCancel(ctx)
	id := string(in.id)
	if !m.asks.begin(id, cancel) {
		cancel()
		return
	}
	go func() {
		defer m.asks.wg.Done()
		defer cancel()
		reply, err := to(ctx, in.method, in.params)
		if !m.asks.end(id) { // the server cancelled it or exited
			return
		}
		switch {
		case err != nil:
			message, _ := core.Describe(err)
			m.refuse(in.id, CodeRefused, message)
		case len(reply.Result) == 0 && len(reply.Error) == 0:
			m.refuse(in.id, CodeInternal, "no answer")
		default:
			m.answer(in.id, reply)
		}
	}()
}

// askCancelled cancels a request that the server has cancelled.
func (m *Mux) askCancelled(params []byte) {
	if p, err := ScanParams(params); err == nil {
		m.asks.cancel(string(Bytes(params, p.RequestID)))
	}
}

func (m *Mux) refuse(id []byte, code int, message string) {
	m.answer(id, core.Reply{Error: ErrorObject(code, message, nil)})
}

// answer never blocks: a server that sends requests without reading loses responses.
func (m *Mux) answer(id []byte, reply core.Reply) {
	sent := m.out.tryPut(len(id)+len(reply.Result)+len(reply.Error)+64, func(dst []byte) []byte {
		if len(reply.Error) > 0 {
			return AppendErrorObject(dst, id, oneLine(reply.Error))
		}
		return AppendResult(dst, id, oneLine(reply.Result))
	})
	if !sent {
		m.stats.dropped.Add(1)
	}
}
