package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// SeeLog is the hint for a server that exited for an unknown reason.
const SeeLog = "See the server's log."

var errNotReading = errors.New("the server stopped reading its input")

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// DefaultWriteTimeout is the time after which a server that neither reads nor sends anything is
// given up while a message waits to be written.
const DefaultWriteTimeout = 60 * time.Second

// MuxOptions configures a Mux. In and Out are required, the rest has defaults. The reader calls
// the callbacks: they must not block and must not retain params.
type MuxOptions struct {
	Server       string // id, for messages and the log
	Account      string // of the server, for messages; may be ""
	In           io.Reader
	Out          io.Writer // may have SetWriteDeadline
	Framing      Framing   // "" is Auto
	MaxMessage   int       // bytes; 0 is DefaultMaxMessage
	WriteTimeout time.Duration

	// OnNotification receives notifications that belong to no call: list_changed,
	// resources/updated, and every notifications/message, including those that a sink received.
	OnNotification func(method string, params json.RawMessage)
	// OnRequest answers a request of the server that belongs to no call or to more than one. It
	// runs in its own goroutine. If it is nil, such requests are refused.
	OnRequest func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)
	// OnJunk receives lines that are not messages, cut to 512 bytes, and descriptions of responses
	// to no request, with the reason.
	OnJunk func(line []byte, reason string)
	Log    *slog.Logger
}

// Mux multiplexes calls over one pipe to one server. All methods are safe for concurrent use; calls
// are answered only while Run is running.
//
// For each call, progress, log lines and requests of the server reach the sink in
// wire order, and all of them before Call returns. A request is started in wire
// order but answered concurrently: an answer may take minutes.
type Mux struct {
	serverMessages
	o                 MuxOptions
	out               outbox
	usesContentLength atomic.Bool
	lastReceived      atomic.Int64 // time of the last message of the server, Unix nanoseconds
	nextID            atomic.Int64

	done chan struct{}

	// Guarded by mu.
	unusable unusableOutput
	err      error // why done is closed
}

// NewMux checks the options and starts nothing.
func NewMux(o MuxOptions) *Mux {
	if o.Framing == "" {
		o.Framing = Auto
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Mux{o: o, done: make(chan struct{})}
	m.serverMessages = serverMessages{
		server: o.Server, log: o.Log, onNotification: o.OnNotification, onRequest: o.OnRequest, onJunk: o.OnJunk,
		respond: m.enqueueResponse, respondSoon: m.enqueueResponse,
	}
	m.serverMessages.init()
	m.usesContentLength.Store(o.Framing == ContentLength)
	m.out = outbox{
		w: o.Out, timeout: o.WriteTimeout, done: m.done, usesContentLength: m.usesContentLength.Load,
		heardSince: func(since time.Time) bool { return m.lastReceived.Load() > since.UnixNano() },
		onStuck:    func() { m.fail(errNotReading) },
		wake:       make(chan struct{}, 1),
		turn:       make(chan struct{}, 1), space: make(chan struct{}, 1),
	}
	return m
}

// Run reads and writes until the pipe ends and returns the reason. It does not close the pipe: the
// owner must close it after Done is closed, otherwise Run does not return.
func (m *Mux) Run() error {
	var writer sync.WaitGroup
	writer.Go(func() {
		if err := m.out.run(); err != nil {
			m.fail(err)
		}
	})
	m.fail(m.read())
	writer.Wait()
	m.requests.wg.Wait()
	return m.Err()
}

// Done returns a channel that is closed when the connection is no longer usable.
func (m *Mux) Done() <-chan struct{} { return m.done }

// Err returns the reason why Done is closed, or nil.
func (m *Mux) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Close closes the connection: every call fails with err. It does not wait.
func (m *Mux) Close(err error) { m.fail(err) }

func (m *Mux) fail(err error) {
	m.mu.Lock()
	if m.err != nil {
		m.mu.Unlock()
		return
	}
	m.err = err
	flights := m.pending
	m.pending = nil
	close(m.done)
	m.mu.Unlock()
	m.requests.cancelAll()
	gone := m.connectionError(err)
	for _, pc := range flights {
		pc.enqueue(inboundMessage{kind: inboundReply, err: gone}, m.done)
	}
}

// lostConnection is the message of a lost connection. account may be "".
func lostConnection(server, account string) string {
	of := "server " + strconv.Quote(server)
	if account != "" {
		of = "account " + strconv.Quote(account) + " of " + of
	}
	return "the connection to " + of + " was lost"
}

func (m *Mux) connectionError(cause error) error {
	return &core.Error{
		Code: core.CodeUnavailable, Message: lostConnection(m.o.Server, m.o.Account),
		Hint: SeeLog, Cause: cause, Retriable: true,
	}
}

// Call sends a request and waits for its reply. params is raw and may be empty; token is the
// progress token of the client, a span of params: the server receives one of ours, and sink
// receives that of the client. If sink is nil, notifications of the call are dropped and requests
// of the server go to OnRequest.
//
// When ctx ends, Call sends a cancellation to the server and immediately returns the cause of ctx,
// wrapped in an [UnusableOutputError] if that may explain a timeout; a late reply is dropped. After Call has returned, sink is not used except by an Ask that has not
// returned yet, whose context has ended.
func (m *Mux) Call(ctx context.Context, method string, params []byte, token core.Span, sink core.ServerMessageHandler) (core.Reply, error) {
	if ctx.Err() != nil {
		return core.Reply{}, context.Cause(ctx)
	}
	pc := newPendingCall(m.nextID.Add(1), method, params, sink)
	edit := pc.replaceToken(params, token)
	if !m.add(pc) {
		return core.Reply{}, m.notSentError()
	}
	sent := m.out.enqueue(ctx, len(params)+128, func(dst []byte) []byte {
		return appendCall(dst, pc.id, method, params, edit)
	})
	if !sent {
		m.remove(pc)
		if ctx.Err() != nil {
			return core.Reply{}, context.Cause(ctx)
		}
		return core.Reply{}, m.notSentError()
	}
	return m.waitForReply(ctx, pc, method)
}

// notSentError is the error of a call that was not queued.
func (m *Mux) notSentError() error {
	err := m.connectionError(m.Err())
	if e, ok := errors.AsType[*core.Error](err); ok {
		e.Unsent = true
	}
	return err
}

// appendCall appends a request with the progress token replaced and without line feeds, which would
// end the message.
func appendCall(dst []byte, id int64, method string, params []byte, edit []Edit) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendInt(dst, id, 10)
	dst = append(dst, `,"method":`...)
	dst = AppendString(dst, method)
	if len(params) > 0 {
		dst = append(dst, `,"params":`...)
		from := len(dst)
		dst = Splice(dst, params, edit...)
		if hasNewline(dst[from:]) {
			dst = append(dst[:from], Compact(nil, dst[from:])...)
		}
	}
	return append(dst, '}')
}

// waitForReply delivers the messages of the call until its reply arrives.
func (m *Mux) waitForReply(ctx context.Context, pc *pendingCall, method string) (core.Reply, error) {
	var asking context.Context // created for the first request of the server
	var batch []inboundMessage
	for {
		select {
		case <-pc.wake:
		case <-ctx.Done():
			m.remove(pc)
			m.refuseUnprocessed(pc.closeQueue())
			if method != "initialize" { // the one request that must not be cancelled
				m.notifyCancelled(pc.id, context.Cause(ctx))
			}
			return core.Reply{}, m.endedError(ctx, pc.id)
		}
		batch = pc.dequeueAll(batch)
		for i := range batch {
			in := &batch[i]
			switch in.kind {
			case inboundReply:
				return in.reply, in.err
			case inboundNotification:
				if ctx.Err() == nil {
					pc.sink.Notify(in.method, in.params)
				}
			case inboundRequest:
				if asking == nil {
					var stop context.CancelCauseFunc
					asking, stop = context.WithCancelCause(ctx)
					defer stop(errAnswered)
				}
				m.answerRequest(asking, pc.sink.Ask, *in)
			}
		}
	}
}

var errAnswered = core.Errorf(core.CodeCancelled, "the call has finished")

func (m *Mux) notifyCancelled(id int64, cause error) {
	reason := cancelReason(cause)
	m.out.tryEnqueue(128+len(reason), func(dst []byte) []byte {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
		dst = strconv.AppendInt(dst, id, 10)
		dst = append(dst, `,"reason":`...)
		return append(AppendString(dst, reason), `}}`...)
	})
}

// ReasonOfClient is the reason that a client gave for cancelling a request, as part of the cause of
// a context. The server receives it.
type ReasonOfClient string

func (r ReasonOfClient) Error() string { return string(r) }

// cancelReason is the reason in a cancellation for the server.
func cancelReason(cause error) string {
	if reason, ok := errors.AsType[ReasonOfClient](cause); ok {
		return string(reason)
	}
	if core.CodeOf(cause) == core.CodeTimeout {
		return "the request took too long"
	}
	return "the client cancelled the request"
}

// Notify sends a notification. While the queue is full, it blocks until ctx ends.
func (m *Mux) Notify(ctx context.Context, method string, params []byte) error {
	line := removeNewlines(params)
	if m.out.enqueue(ctx, len(line)+128, func(dst []byte) []byte { return AppendNotification(dst, method, line) }) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.connectionError(m.Err())
}

func (m *Mux) add(pc *pendingCall) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return false
	}
	m.pending[pc.id] = pc
	return true
}

func (m *Mux) remove(pc *pendingCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.pending, pc.id)
}

// callByToken finds the call whose progress token the server names, whatever stream the message
// arrived on.
func (s *serverMessages) callByToken(raw []byte) *pendingCall {
	if len(raw) < 2 || len(raw) > 64 || raw[0] != '"' {
		return nil
	}
	key := string(raw[1 : len(raw)-1])
	_, number, _ := strings.Cut(key, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if pc := s.pending[id]; pc != nil && pc.sentToken == key {
		return pc
	}
	return nil
}

// callOfProgress returns the call of a progress notification, and the params with the token of the
// client. The call is nil if it has ended or never existed.
func (s *serverMessages) callOfProgress(data []byte, env Envelope) (*pendingCall, []byte) {
	params := Bytes(data, env.Params)
	p, err := ScanParams(params)
	if err != nil {
		s.reportJunk(data, err.Error())
		return nil, nil
	}
	pc := s.callByToken(Bytes(params, p.NotifiedProgressToken))
	if pc == nil || pc.sink == nil {
		s.stats.late.Add(1)
		return nil, nil
	}
	return pc, pc.restoreToken(params, p.NotifiedProgressToken)
}

// callOfRequest returns the call that a request of the server belongs to, or nil.
func (s *serverMessages) callOfRequest(params []byte, p *Params) *pendingCall {
	if task, related := p.RelatedTaskID(params); related {
		return s.callForTask(task)
	}
	if pc := s.callByToken(Bytes(params, p.ProgressToken)); pc != nil {
		return pc
	}
	return s.onlyPendingCall()
}

// callOfLogMessage returns the call that a log message belongs to, or nil.
func (s *serverMessages) callOfLogMessage(params []byte) *pendingCall {
	p, err := ScanParams(params)
	if err != nil { // it may name a task in a way that we cannot read
		return nil
	}
	if task, related := p.RelatedTaskID(params); related {
		return s.callForTask(task)
	}
	return s.onlyPendingCall()
}

func (s *serverMessages) callForTask(task string) *pendingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return waitingForTask(s.pending, task)
}

func (s *serverMessages) onlyPendingCall() *pendingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return onlyWithSink(s.pending)
}
