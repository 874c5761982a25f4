package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func hasNewline(b []byte) bool {
	return bytes.IndexByte(b, '\n') >= 0 || bytes.IndexByte(b, '\r') >= 0
}

// removeNewlines returns b, or a copy without white space if b has several lines.
func removeNewlines(b []byte) []byte {
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
		m.lastReceived.Store(time.Now().UnixNano())
		if f.hasContentLength && m.o.Framing == Auto {
			m.usesContentLength.Store(true)
		}
		if f.oversized() {
			m.handleOversized(&f)
			continue
		}
		m.handleLine(f.data, f.owned)
	}
}

// ErrClosed is wrapped by the errors of calls after the server has closed its output, as an
// exiting process does.
var ErrClosed = errors.New("the server closed its output")

// handleOversized fails the call that a message beyond the limit belongs to.
func (m *Mux) handleOversized(f *frame) {
	m.stats.oversized.Add(1)
	limit := m.o.MaxMessage
	if limit <= 0 {
		limit = DefaultMaxMessage
	}
	id, ok := responseID(f.data, f.tail)
	if !ok {
		m.reportJunk(f.data, "larger than "+strconv.Itoa(limit)+" bytes")
		return
	}
	err := core.Errorf(core.CodeUnavailable, "the result from server %q is %d bytes long; the limit is %d bytes", m.o.Server, f.size, limit)
	m.completeCall(id, inboundMessage{kind: inboundReply, err: err})
}

// handleLine processes one line, which may contain several messages.
func (m *Mux) handleLine(data []byte, owned bool) {
	if first := bytes.TrimLeft(data, " \t\r\n"); len(first) > 0 && first[0] != '{' {
		elements, ok := BatchMessages(first)
		if !ok {
			m.reportUnusable(data, "not a message") // a banner, or JSON that is not an object
		}
		for _, message := range elements {
			m.handleLine(message, owned)
		}
		return
	}
	for len(data) > 0 {
		env, n, err := ScanPrefix(data)
		if err != nil {
			m.handleInvalid(data, err)
			return
		}
		m.handleMessage(data[:n], env, owned)
		data = bytes.TrimLeft(data[n:], " \t\r\n")
	}
}

// handleInvalid fails the call that an invalid message belongs to, if its id can be found.
func (m *Mux) handleInvalid(data []byte, cause error) {
	if id, ok := responseID(data, nil); ok {
		err := core.Errorf(core.CodeUnavailable, "server %q sent a malformed result", m.o.Server)
		err.Cause = cause
		if m.completeCall(id, inboundMessage{kind: inboundReply, err: err}) {
			return
		}
	}
	m.reportUnusable(data, cause.Error())
}

// reportUnusable handles a line that cannot be read as a message.
func (m *Mux) reportUnusable(line []byte, reason string) {
	if looksLikeMessage(line) {
		m.recordUnusable("")
	}
	m.reportJunk(line, reason)
}

func (m *Mux) handleMessage(data []byte, env Envelope, owned bool) {
	broken := env.InvalidUnicode
	if env.Dirty() {
		if broken {
			m.stats.repaired.Add(1)
		}
		data, owned = Compact(nil, data), true
		var err error
		if env, err = Scan(data); err != nil {
			m.reportJunk(data, err.Error())
			return
		}
	}
	switch env.Kind {
	case Response:
		m.handleResponse(data, env, owned, broken)
	case Notification, Request:
		if !env.HasVersion { // a JSON log line that happens to have a method
			m.reportJunk(data, "not a JSON-RPC message")
		} else if env.Kind == Notification {
			m.handleNotification(data, env)
		} else {
			m.handleRequest(data, env)
		}
	default:
		m.reportJunk(data, "not a JSON-RPC message")
	}
}

// copyUnlessOwned returns a range of data that stays valid after the next read.
func copyUnlessOwned(data []byte, span core.Span, owned bool) []byte {
	if owned || span.Empty() {
		return Bytes(data, span)
	}
	return bytes.Clone(data[span.Start:span.End])
}

func (m *Mux) handleResponse(data []byte, env Envelope, owned, repaired bool) {
	id, quoted, ok := replyID(Bytes(data, env.ID))
	if !ok || id <= 0 || id > m.nextID.Load() {
		m.recordUnmatched(data, env.ID)
		return
	}
	m.countQuotedID(quoted)
	in := inboundMessage{kind: inboundReply}
	if result, object := replySpans(data, env); !result.Empty() || !object.Empty() {
		in.reply = core.Reply{Result: copyUnlessOwned(data, result, owned), Error: copyUnlessOwned(data, object, owned), Repaired: repaired}
	} else {
		in.err = core.Errorf(core.CodeUnavailable, "server %q responded with neither result nor error", m.o.Server)
	}
	m.completeCall(id, in)
}

// completeCall completes a call and reports whether there was one.
func (m *Mux) completeCall(id int64, in inboundMessage) bool {
	m.mu.Lock()
	pc, ok := m.pending[id]
	delete(m.pending, id)
	m.mu.Unlock()
	if ok && len(in.reply.Result) > 0 {
		if o, observes := pc.sink.(core.ReplyObserver); observes {
			o.ObserveReply(in.reply)
		}
	}
	if !ok || !pc.enqueue(in, m.done) {
		m.stats.late.Add(1)
		return false
	}
	return true
}

func (m *Mux) handleNotification(data []byte, env Envelope) {
	switch env.Method {
	case "notifications/progress":
		m.handleProgress(data, env)
		return
	case "notifications/cancelled":
		m.cancelRequest(Bytes(data, env.Params))
		return
	case "notifications/message":
		if pc := m.callOfLogMessage(Bytes(data, env.Params)); pc != nil {
			m.deliver(pc, inboundMessage{kind: inboundNotification, method: env.Method, params: copyUnlessOwned(data, env.Params, false)})
		}
	}
	m.notify(env.Method, Bytes(data, env.Params))
}

// handleProgress forwards a progress notification to its call, with the token of the client.
func (m *Mux) handleProgress(data []byte, env Envelope) {
	if pc, params := m.callOfProgress(data, env); pc != nil {
		m.deliver(pc, inboundMessage{kind: inboundNotification, method: env.Method, params: params})
	}
}

// handleRequest passes a request of the server to the call that it belongs to.
func (m *Mux) handleRequest(data []byte, env Envelope) {
	in := inboundMessage{kind: inboundRequest, method: env.Method, id: bytes.Clone(Bytes(data, env.ID))}
	params := Bytes(data, env.Params)
	p, err := ScanParams(params)
	if err != nil {
		m.refuse(in.id, CodeInvalidParams, "invalid params: "+err.Error())
		return
	}
	in.params = bytes.Clone(params)
	pc := m.callOfRequest(params, &p)
	owned := pc != nil && pc.sink != nil
	switch {
	case !m.admitRequest(in, owned || m.onRequest != nil):
	case !owned:
		m.answerRequest(context.Background(), m.onRequest, in)
	case !m.deliver(pc, in):
		m.refuseUnprocessed([]inboundMessage{in})
	}
}

// enqueueResponse never blocks: a server that sends requests without reading loses responses.
func (m *Mux) enqueueResponse(body []byte) {
	if !m.out.tryEnqueue(len(body), func(dst []byte) []byte { return append(dst, body...) }) {
		m.stats.dropped.Add(1)
	}
}

func (m *Mux) deliver(pc *pendingCall, in inboundMessage) bool {
	if pc.enqueue(in, m.done) {
		return true
	}
	if m.stats.dropped.Add(1) == 1 {
		m.o.Log.Warn("Server is sending notifications faster than the client reads them; excess notifications are dropped", "server", m.o.Server)
	}
	return false
}
