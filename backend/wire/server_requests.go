package wire

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"golang.org/x/time/rate"
)

// serverMessages handles the messages of a server that are not replies, as far as [Mux] and
// [Remote] do so in the same way: it finds the calls that they belong to, limits their rate, and
// answers requests.
type serverMessages struct {
	server         string // id, for the log
	log            *slog.Logger
	onNotification func(method string, params json.RawMessage)
	onRequest      requestHandler
	onJunk         func(line []byte, reason string)

	respond     func(body []byte) // sends a response; may block
	respondSoon func(body []byte) // sends a response without blocking the reader; it may be lost

	mu      sync.Mutex
	pending map[int64]*pendingCall // by id; nil once the connection has ended

	stats    counters
	limiter  *rate.Limiter
	flooding atomic.Bool // a flood was logged and has not ended
	requests serverRequestTable
}

type requestHandler func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)

// Limits of messages that belong to no call: a token bucket.
const (
	floodBurst = 1000
	floodRate  = 200 // per second
)

func (s *serverMessages) init() {
	s.limiter = rate.NewLimiter(floodRate, floodBurst)
	s.requests.running = map[string]context.CancelCauseFunc{}
	s.pending = map[int64]*pendingCall{}
}

// Stats holds the counters of a connection.
type Stats struct {
	Late      int64 // replies to abandoned or unknown calls
	Junk      int64 // lines that are not messages
	Oversized int64
	Repaired  int64 // messages with invalid Unicode
	Dropped   int64 // notifications and requests beyond a limit
	QuotedIDs int64 // replies whose id is a string instead of the number that the request had
}

type counters struct{ late, junk, oversized, repaired, dropped, quotedIDs atomic.Int64 }

// Stats returns the counts so far.
func (s *serverMessages) Stats() Stats {
	return Stats{
		Late: s.stats.late.Load(), Junk: s.stats.junk.Load(), Oversized: s.stats.oversized.Load(),
		Repaired: s.stats.repaired.Load(), Dropped: s.stats.dropped.Load(), QuotedIDs: s.stats.quotedIDs.Load(),
	}
}

// allowMessage reports whether the rate limit permits another message that belongs to no call.
func (s *serverMessages) allowMessage() bool {
	if s.limiter.Allow() {
		if s.flooding.Load() && s.limiter.Tokens() >= floodBurst/2 {
			s.flooding.Store(false)
		}
		return true
	}
	s.stats.dropped.Add(1)
	if !s.flooding.Swap(true) {
		s.log.Warn("Server is flooding the connection; excess messages are dropped", "server", s.server)
	}
	return false
}

func (s *serverMessages) reportJunk(line []byte, reason string) {
	s.stats.junk.Add(1)
	if s.onJunk != nil && s.allowMessage() {
		s.onJunk(line[:min(len(line), 512)], reason)
	}
}

func (s *serverMessages) notify(method string, params []byte) {
	if s.onNotification != nil && s.allowMessage() {
		s.onNotification(method, params)
	}
}

// admitRequest reserves a place for a request of the server. It answers a ping itself, and refuses
// a request for which there is no handler.
func (s *serverMessages) admitRequest(in inboundMessage, handled bool) bool {
	switch {
	case in.method == "ping":
		s.respondSoon(AppendResult(nil, in.id, []byte("{}")))
	case in.method == "initialize", in.method == "server/discover": // an echo of ours, as of the answer
		s.refuse(in.id, CodeRefused, "the program sends back what it receives, so it is not an MCP server")
	case !handled:
		s.refuse(in.id, CodeRefused, "cannot forward the request: it cannot be attributed to a single call")
	case !s.requests.reserve(string(in.id)):
		s.stats.dropped.Add(1)
		s.refuse(in.id, CodeRefused, "too many requests")
	default:
		return true
	}
	return false
}

// answerRequest answers an admitted request of the server in its own goroutine.
func (s *serverMessages) answerRequest(ctx context.Context, to requestHandler, in inboundMessage) {
	ctx, cancel := context.WithCancelCause(ctx)
	id := string(in.id)
	if !s.requests.begin(id, cancel) {
		cancel(nil)
		return
	}
	go func() {
		defer s.requests.wg.Done()
		defer cancel(nil)
		reply, err := to(ctx, in.method, in.params)
		if !s.requests.end(id) { // the server cancelled it or exited
			return
		}
		switch {
		case err != nil:
			message, _ := core.Describe(err)
			s.respond(AppendError(nil, in.id, CodeRefused, message, nil))
		case len(reply.Error) > 0:
			s.respond(AppendErrorObject(nil, in.id, removeNewlines(reply.Error)))
		case len(reply.Result) > 0:
			s.respond(AppendResult(nil, in.id, removeNewlines(reply.Result)))
		default:
			s.respond(AppendError(nil, in.id, CodeInternal, "no response", nil))
		}
	}()
}

// CancelledByServer is the cause with which the context of a request ends that the server has
// cancelled.
type CancelledByServer struct{ Reason string }

func (e *CancelledByServer) Error() string {
	if e.Reason == "" {
		return "the server cancelled the request"
	}
	return "the server cancelled the request: " + e.Reason
}

// Is makes it a cancellation, not an internal error.
func (e *CancelledByServer) Is(target error) bool { return target == context.Canceled }

// maxReason limits the reason of a cancellation, in bytes.
const maxReason = 1 << 10

func (s *serverMessages) cancelRequest(params []byte) {
	found, err := Pick(params, "requestId", "reason")
	if err == nil {
		reason, _ := Unquote(Bytes(params, found[1]))
		s.requests.cancel(string(Bytes(params, found[0])), &CancelledByServer{core.ShortenBytes(reason, maxReason)})
	}
}

// refuseUnprocessed refuses the requests among the messages that a call did not process.
func (s *serverMessages) refuseUnprocessed(left []inboundMessage) {
	for _, in := range left {
		if in.kind == inboundRequest && s.requests.end(string(in.id)) {
			s.refuse(in.id, CodeRefused, "the call to which this message belongs has ended")
		}
	}
}

func (s *serverMessages) refuse(id []byte, code int, message string) {
	s.respondSoon(AppendError(nil, id, code, message, nil))
}

// maxServerRequests is the maximum number of unanswered requests of one server.
const maxServerRequests = 16

type serverRequestTable struct {
	wg sync.WaitGroup // counts the answering goroutines

	mu      sync.Mutex
	running map[string]context.CancelCauseFunc // by the raw id of the server; an entry is nil while it waits, the map is nil once closed
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
func (t *serverRequestTable) begin(id string, cancel context.CancelCauseFunc) bool {
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

func (t *serverRequestTable) end(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.running[id]
	delete(t.running, id)
	return ok
}

func (t *serverRequestTable) cancel(id string, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cancel := t.running[id]; cancel != nil {
		cancel(cause)
	}
	delete(t.running, id)
}

func (t *serverRequestTable) cancelAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, cancel := range t.running {
		if cancel != nil {
			cancel(nil)
		}
	}
	t.running = nil
}
