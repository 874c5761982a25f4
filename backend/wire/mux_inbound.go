package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
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

// Limits of the queue of one call, beyond which the reader waits for a slow sink.
const (
	maxQueuedMessages = 8192
	maxQueuedBytes    = 1 << 20
)

// sinkTimeout is the total time that the reader waits for the slow sink of one call, over the whole
// life of the call. After that, messages of the call that do not fit are lost.
const sinkTimeout = 250 * time.Millisecond

type inboundKind uint8

const (
	inboundNotification inboundKind = iota
	inboundRequest
	inboundReply
)

// inboundMessage is one message of the server that belongs to a call.
type inboundMessage struct {
	kind   inboundKind
	method string
	params json.RawMessage
	id     json.RawMessage // of a request
	reply  core.Reply
	err    error
}

func (in *inboundMessage) size() int { return len(in.params) + len(in.id) + 64 }

// pendingCall is a call that was sent and not answered yet. The reader appends to its queue and the
// goroutine of the caller removes: this keeps wire order between the notifications of the call
// and its reply.
//
// The queue is bounded. When it is full, the reader waits for the sink, so that a burst loses
// nothing, but for sinkTimeout in total, so that one slow sink cannot delay the other calls of the
// server. After that, notifications of this call are dropped and counted, and requests are
// refused. The reply always fits.
type pendingCall struct {
	id          int64
	clientToken []byte // the progress token of the client, raw; nil without one
	sentToken   string // our progress token, as sent
	sink        core.ServerMessageHandler
	task        string        // whose result the call waits for; "" for other calls
	wake        chan struct{} // holds one signal when the queue is not empty

	// Only [Remote] uses these.
	ctx      context.Context // of the call
	unusable unusableOutput  // on the stream of the call
	sinkMu   sync.Mutex      // held while the sink is notified: several streams may carry messages of the call
	replied  chan core.Reply // holds the reply if it arrived on another stream
	replyEnd context.CancelCauseFunc

	mu       sync.Mutex
	queue    []inboundMessage
	bytes    int
	space    chan struct{} // closed when the queue was emptied; nil when the reader does not wait
	timeLeft time.Duration // rest of sinkTimeout
	ended    bool          // replied or abandoned: nothing more is queued
	stray    bool          // messages arrived on another stream than that of the call
	draining bool          // a goroutine passes the queue to the sink
	dropped  int
}

func newPendingCall(id int64, method string, params []byte, sink core.ServerMessageHandler) *pendingCall {
	pc := &pendingCall{id: id, sink: sink, wake: make(chan struct{}, 1), timeLeft: sinkTimeout}
	if method == "tasks/result" {
		if p, err := ScanParams(params); err == nil {
			pc.task, _ = Unquote(Bytes(params, p.TaskID))
		}
	}
	return pc
}

// replaceToken returns the edit of params that replaces the progress token of the client by one
// that identifies the call and cannot be guessed. It returns nil if there is no token.
func (pc *pendingCall) replaceToken(params []byte, token core.Span) []Edit {
	if token.Empty() {
		return nil
	}
	key := strconv.AppendUint(make([]byte, 0, 36), rand.Uint64(), 16)
	pc.sentToken = string(strconv.AppendInt(append(key, '.'), pc.id, 10))
	pc.clientToken = Bytes(params, token)
	return []Edit{{Span: token, With: []byte(`"` + pc.sentToken + `"`)}}
}

// restoreToken returns the params of a progress notification with the token of the client.
func (pc *pendingCall) restoreToken(params []byte, token core.Span) []byte {
	return Splice(nil, params, Edit{Span: token, With: pc.clientToken})
}

// mayReceive reports whether a log message that arrived on the stream of the call does not belong
// to a task that the call does not wait for.
func (pc *pendingCall) mayReceive(params []byte) bool {
	p, err := ScanParams(params)
	if err != nil {
		return false
	}
	task, related := p.RelatedTaskID(params)
	return !related || task == pc.task
}

// waitingForTask returns the newest call that waits for the result of a task, or nil. Messages that
// name a task belong to it, and to no other call: that could be one of another client.
func waitingForTask(pending map[int64]*pendingCall, task string) (newest *pendingCall) {
	for _, pc := range pending {
		if task != "" && pc.task == task && pc.sink != nil && (newest == nil || newest.id < pc.id) {
			newest = pc
		}
	}
	return newest
}

// onlyWithSink returns the one call that has a sink, or nil when there is none or more than one: an
// ambiguous message is never sent to the wrong client.
func onlyWithSink(pending map[int64]*pendingCall) *pendingCall {
	var only *pendingCall
	for _, pc := range pending {
		if pc.sink == nil {
			continue
		}
		if only != nil {
			return nil
		}
		only = pc
	}
	return only
}

// enqueue queues in and reports whether it did. Only the reader calls it, except for the reply when
// the connection ends.
func (pc *pendingCall) enqueue(in inboundMessage, done <-chan struct{}) bool {
	pc.mu.Lock()
	for in.kind != inboundReply && pc.isFull(&in) && !pc.ended {
		if pc.timeLeft <= 0 {
			pc.dropped++
			pc.mu.Unlock()
			return false
		}
		pc.space = make(chan struct{})
		room, left := pc.space, pc.timeLeft
		pc.mu.Unlock()
		start := time.Now()
		timer := time.NewTimer(left)
		select {
		case <-room:
		case <-timer.C:
		case <-done:
		}
		timer.Stop()
		pc.mu.Lock()
		pc.timeLeft -= time.Since(start)
	}
	if pc.ended {
		pc.mu.Unlock()
		return false
	}
	pc.ended = in.kind == inboundReply
	pc.queue = append(pc.queue, in)
	pc.bytes += in.size()
	pc.mu.Unlock()
	select {
	case pc.wake <- struct{}{}:
	default:
	}
	return true
}

func (pc *pendingCall) isFull(in *inboundMessage) bool {
	return len(pc.queue) > 0 && (len(pc.queue) >= maxQueuedMessages || pc.bytes+in.size() > maxQueuedBytes)
}

// dequeueAll empties the queue. The caller may return the result for reuse.
func (pc *pendingCall) dequeueAll(spare []inboundMessage) []inboundMessage {
	clear(spare)
	pc.mu.Lock()
	defer pc.mu.Unlock()
	taken := pc.queue
	pc.queue, pc.bytes = spare[:0], 0
	if pc.space != nil {
		close(pc.space)
		pc.space = nil
	}
	return taken
}

// closeQueue ends the call for the reader. It returns the messages that remain in the queue.
func (pc *pendingCall) closeQueue() []inboundMessage {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	left := pc.queue
	pc.ended, pc.queue = true, nil
	if pc.space != nil {
		close(pc.space)
		pc.space = nil
	}
	return left
}

// notify passes a notification that arrived on the stream of the call to the sink, after those that
// arrived earlier on other streams.
func (pc *pendingCall) notify(method string, params []byte) {
	pc.drain()
	pc.sinkMu.Lock()
	defer pc.sinkMu.Unlock()
	pc.sink.Notify(method, params)
}

// enqueueStray queues a notification that arrived on another stream than that of the call, and
// passes it to the sink from another goroutine, because a slow sink must not delay that stream.
func (pc *pendingCall) enqueueStray(in inboundMessage, done <-chan struct{}) bool {
	if !pc.enqueue(in, done) {
		return false
	}
	pc.mu.Lock()
	defer pc.mu.Unlock()
	pc.stray = true
	if !pc.draining {
		pc.draining = true
		go pc.drain()
	}
	return true
}

// drain passes the queue to the sink.
func (pc *pendingCall) drain() {
	pc.sinkMu.Lock()
	defer pc.sinkMu.Unlock()
	for {
		batch := pc.dequeueAll(nil)
		for i := range batch {
			pc.sink.Notify(batch[i].method, batch[i].params)
		}
		pc.mu.Lock()
		empty := len(pc.queue) == 0
		pc.draining = pc.draining && !empty
		pc.mu.Unlock()
		if empty {
			return
		}
	}
}

// end passes the rest of the queue to the sink, which is not used afterwards.
func (pc *pendingCall) end() {
	if pc.hasStray() {
		pc.drain()
	}
	pc.closeQueue()
	pc.sinkMu.Lock() // wait for a notification that is being passed on
	defer pc.sinkMu.Unlock()
}

func (pc *pendingCall) hasStray() bool {
	pc.mu.Lock()
	defer pc.mu.Unlock()
	return pc.stray
}
