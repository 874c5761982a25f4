package wire

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func hasNewline(b []byte) bool {
	return bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0
}

// oneLine returns b, or a copy without white space if b has several lines.
func oneLine(b []byte) []byte {
	if hasNewline(b) {
		return Compact(nil, b)
	}
	return b
}

// read processes messages until the stream ends.
func (m *Mux) read() error {
	lines := newLineReader(m.o.In, m.o.Framing, m.o.MaxMessage)
	for {
		f, err := lines.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return ErrClosed
			}
			return err
		}
		m.heard.Store(time.Now().UnixNano())
		if f.framed && m.o.Framing == Auto {
			m.framed.Store(true)
		}
		if f.oversized() {
			m.oversized(&f)
			continue
		}
		m.line(f.data, f.owned)
	}
}

// ErrClosed is wrapped by the errors of calls after the server has closed its output, as an
// exiting process does.
var ErrClosed = errors.New("the server closed its output")

// oversized fails the call that a message beyond the limit belongs to.
func (m *Mux) oversized(f *frame) {
	m.stats.oversized.Add(1)
	limit := m.o.MaxMessage
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	id, ok := ownerOf(f.data, f.tail)
	if !ok {
		m.junk(f.data, "larger than "+strconv.Itoa(limit)+" bytes")
		return
	}
	err := core.Errorf(core.CodeUnavailable, "result of server %q is larger than the limit: %d of at most %d bytes", m.o.Server, f.size, limit)
	m.settle(id, inbound{kind: inReply, err: err})
}

// line processes one line, which may contain several messages.
func (m *Mux) line(data []byte, owned bool) {
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] != '{' {
		m.junk(data, "not a message") // a banner, or JSON that is not an object
		return
	}
	for len(data) > 0 {
		env, n, err := ScanPrefix(data)
		if err != nil {
			m.broken(data, err)
			return
		}
		m.message(data[:n], env, owned)
		data = bytes.TrimLeft(data[n:], " \t\r\n")
	}
}

// broken fails the call that an invalid message belongs to, if its id can be found.
func (m *Mux) broken(data []byte, cause error) {
	if id, ok := ownerOf(data, nil); ok {
		err := core.Errorf(core.CodeUnavailable, "server %q sent a result that cannot be read", m.o.Server)
		err.Cause = cause
		if m.settle(id, inbound{kind: inReply, err: err}) {
			return
		}
	}
	m.junk(data, cause.Error())
}

func (m *Mux) junk(line []byte, reason string) {
	m.stats.junk.Add(1)
	if m.o.OnJunk != nil && m.allow() {
		m.o.OnJunk(line[:min(len(line), 512)], reason)
	}
}

func (m *Mux) message(data []byte, env Envelope, owned bool) {
	broken := env.Broken
	if env.Dirty() {
		if broken {
			m.stats.repaired.Add(1)
		}
		data, owned = Compact(nil, data), true
		var err error
		if env, err = Scan(data); err != nil {
			m.junk(data, err.Error())
			return
		}
	}
	switch env.Kind {
	case Response:
		m.response(data, env, owned, broken)
	case Notification, Request:
		if !env.Version { // a JSON log line that happens to have a method
			m.junk(data, "not a JSON-RPC message")
		} else if env.Kind == Notification {
			m.notification(data, env)
		} else {
			m.request(data, env)
		}
	default:
		m.junk(data, "not a JSON-RPC message")
	}
}

// keep returns a range of data that stays valid after the next read.
func keep(data []byte, span core.Span, owned bool) []byte {
	if owned || span.Empty() {
		return Bytes(data, span)
	}
	return bytes.Clone(data[span.Start:span.End])
}

func (m *Mux) response(data []byte, env Envelope, owned, repaired bool) {
	id, ok := Int(data, env.ID)
	if !ok {
		m.stats.late.Add(1)
		m.o.Log.Debug("Response without an id of ours", "server", m.o.Server)
		return
	}
	in := inbound{kind: inReply}
	in.reply.Repaired = repaired
	switch {
	case !env.Error.Empty() && string(Bytes(data, env.Error)) != "null": // wins over a result
		in.reply.Error = keep(data, env.Error, owned)
	case !env.Result.Empty():
		in.reply.Result = keep(data, env.Result, owned)
	default:
		in.err = core.Errorf(core.CodeUnavailable, "server %q answered with neither result nor error", m.o.Server)
	}
	m.settle(id, in)
}

// settle completes a call and reports whether there was one.
func (m *Mux) settle(id int64, in inbound) bool {
	m.mu.Lock()
	f, ok := m.flights[id]
	delete(m.flights, id)
	m.out.calls.Store(int32(len(m.flights)))
	m.mu.Unlock()
	if !ok || !f.offer(in, m.done) {
		m.stats.late.Add(1)
		return false
	}
	return true
}

func (m *Mux) notification(data []byte, env Envelope) {
	switch env.Method {
	case "notifications/progress":
		m.progress(data, env)
		return
	case "notifications/cancelled":
		m.askCancelled(Bytes(data, env.Params))
		return
	case "notifications/message":
		if f := m.onlyFlight(); f != nil {
			m.deliver(f, inbound{kind: inNotify, method: env.Method, params: keep(data, env.Params, false)})
		}
	}
	if m.o.OnNotification == nil {
		return
	}
	if m.allow() {
		m.o.OnNotification(env.Method, Bytes(data, env.Params))
	}
}

// progress forwards a progress notification to its call, with the token of the client.
func (m *Mux) progress(data []byte, env Envelope) {
	params := Bytes(data, env.Params)
	p, err := ScanParams(params)
	if err != nil {
		m.junk(data, err.Error())
		return
	}
	f := m.byToken(Bytes(params, p.Progress))
	if f == nil || f.sink == nil {
		m.stats.late.Add(1)
		return
	}
	m.deliver(f, inbound{
		kind: inNotify, method: env.Method,
		params: Splice(nil, params, Edit{Span: p.Progress, With: f.token}),
	})
}

func (m *Mux) deliver(f *flight, in inbound) bool {
	if f.offer(in, m.done) {
		return true
	}
	if m.stats.dropped.Add(1) == 1 {
		m.o.Log.Warn("Server sends more than the client takes; the rest is dropped", "server", m.o.Server)
	}
	return false
}

// byToken finds the call whose progress token the server names.
func (m *Mux) byToken(raw []byte) *flight {
	if len(raw) < 2 || len(raw) > 64 || raw[0] != '"' {
		return nil
	}
	key := string(raw[1 : len(raw)-1])
	_, number, _ := strings.Cut(key, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.flights[id]; f != nil && f.key == key {
		return f
	}
	return nil
}

// onlyFlight returns the one call in flight that has a sink, or nil when there is
// none or more than one: an ambiguous message is never sent to the wrong client.
func (m *Mux) onlyFlight() *flight {
	m.mu.Lock()
	defer m.mu.Unlock()
	var only *flight
	for _, f := range m.flights {
		if f.sink == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = f
	}
	return only
}

// allow reports whether the rate limit permits another message that belongs to no call.
func (m *Mux) allow() bool {
	ok, first := m.flood.allow(time.Now())
	if !ok {
		m.stats.dropped.Add(1)
	}
	if first {
		m.o.Log.Warn("Server floods us; what is too much is dropped", "server", m.o.Server)
	}
	return ok
}
