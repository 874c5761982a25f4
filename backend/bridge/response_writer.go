package bridge

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errAnswered = errors.New("the answer has been sent")
	comment     = []byte(": \n\n")
)

// responseWriter writes the answer of one HTTP request and keeps its stream alive. It is
// safe for several goroutines, and after end it does nothing.
//
// Used by the hot path it begins as nothing at all: reply makes it a JSON document,
// event (or a long silence) a stream of server-sent events. go-sdk uses it as an
// http.ResponseWriter through [sdkWriter].
type responseWriter struct {
	every time.Duration // silence after which a comment is sent
	limit time.Duration // how long one write may take
	ctl   http.ResponseController
	spoke atomic.Int64 // when something was written last, or it all began, since epoch

	mu        sync.Mutex
	w         http.ResponseWriter
	timer     *time.Timer // beats after a silence; nil when nothing beats, or underway does
	streaming bool        // the head of a stream is out
	ended     bool
	bare      bool  // go-sdk is about to write a message without framing it
	broken    error // the first failed write
}

func (b *Bridge) newResponseWriter(w http.ResponseWriter) *responseWriter {
	o := &responseWriter{w: w, ctl: *http.NewResponseController(w), every: b.KeepAlive, limit: b.WriteLimit}
	o.spoke.Store(int64(time.Since(epoch)))
	return o
}

var epoch = time.Now()

// silence is for how long nothing was written.
func (o *responseWriter) silence() time.Duration {
	return time.Since(epoch) - time.Duration(o.spoke.Load())
}

// keepAlive sends a comment.
func (o *responseWriter) keepAlive() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.broken != nil {
		return
	}
	o.head()
	o.write(comment)
	o.flush()
}

// sendEvent sends one message as an event, in the order of the calls. parts are
// written one after the other and must not be empty together.
func (o *responseWriter) sendEvent(parts ...[]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return errAnswered
	}
	o.head()
	o.writeEvent(parts)
	o.flush()
	return o.broken
}

// reply sends the last message and ends the outlet: as a document with the given
// status if nothing was sent before, else as an event.
func (o *responseWriter) reply(status int, parts ...[]byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return
	}
	if o.streaming {
		o.writeEvent(parts)
	} else {
		size := 0
		for _, p := range parts {
			size += len(p)
		}
		h := o.w.Header()
		h["Content-Type"] = jsonType
		h["Cache-Control"] = noStore
		if size > ownLength {
			h["Content-Length"] = []string{strconv.Itoa(size)}
		}
		o.w.WriteHeader(status)
		o.write(parts...)
	}
	o.stop()
}

// ownLength is how long a reply may be whose length net/http finds out by itself.
const ownLength = 2 << 10

var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	streamType = []string{"text/event-stream"}
)

// end makes the outlet deaf. It must come before the HTTP handler returns.
func (o *responseWriter) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
}

func (o *responseWriter) stop() {
	o.ended = true
	if o.timer != nil {
		o.timer.Stop()
	}
}

func (o *responseWriter) head() {
	if o.streaming {
		return
	}
	o.streaming = true
	h := o.w.Header()
	h["Content-Type"] = streamType
	streamHeaders(h)
	o.w.WriteHeader(http.StatusOK)
}

func streamHeaders(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

var (
	eventOpen  = []byte("event: message\ndata: ")
	eventClose = []byte("\n\n")
)

func (o *responseWriter) writeEvent(parts [][]byte) {
	o.write(eventOpen)
	for _, p := range parts {
		o.write(oneLine(p))
	}
	o.write(eventClose)
}

func (o *responseWriter) write(parts ...[]byte) {
	now := time.Now()
	if o.broken == nil {
		_ = o.ctl.SetWriteDeadline(now.Add(o.limit))
	}
	o.spoke.Store(int64(now.Sub(epoch)))
	for _, p := range parts {
		if o.broken != nil {
			return
		}
		_, o.broken = o.w.Write(p)
	}
	if o.timer != nil {
		o.timer.Reset(o.every)
	}
}

func (o *responseWriter) flush() {
	if o.broken == nil {
		o.broken = o.ctl.Flush()
	}
}

// oneLine returns valid JSON without line breaks between its tokens; inside strings
// none can stand raw.
func oneLine(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 && bytes.IndexByte(p, '\r') < 0 {
		return p
	}
	out := bytes.Clone(p)
	for i, c := range out {
		if c == '\n' || c == '\r' {
			out[i] = ' '
		}
	}
	return out
}

// sdkWriter lets go-sdk write through an outlet. Comments are sent only once a
// stream has begun: before that the SDK may still choose a status. A request that it
// refuses in plain text gets a JSON-RPC error, which its client can tell by the id.
type sdkWriter struct {
	*responseWriter
	id      []byte // of the request that is answered; nil when there is none
	standIn []byte // what go-sdk knows as the id; nil when it knows the id itself
	refused int    // status of a plain text that is about to come
}

func (s *sdkWriter) Header() http.Header { return s.w.Header() }

func (s *sdkWriter) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
	case !s.streaming && status >= 400 && s.id != nil && strings.HasPrefix(s.w.Header().Get("Content-Type"), "text/plain"):
		s.refused = status
	case s.streaming:
		// Too late for a status: what follows is the reply, as a bare document.
		s.bare = status != http.StatusOK
	default:
		s.begin(status)
		s.w.WriteHeader(status)
	}
}

func (s *sdkWriter) begin(status int) {
	if s.streaming || status != http.StatusOK || s.w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	s.streaming = true
	streamHeaders(s.w.Header())
	s.timer = time.AfterFunc(s.every, s.keepAlive)
}

func (s *sdkWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, errAnswered
	}
	out := p
	if s.refused != 0 {
		s.w.Header()["Content-Type"] = jsonType
		s.w.Header().Del("Content-Length")
		s.w.WriteHeader(s.refused)
		s.refused = 0
		out = sdkError(s.id, string(p))
	} else {
		s.begin(http.StatusOK)
	}
	if s.standIn != nil {
		out = bytes.ReplaceAll(out, s.standIn, s.id)
	}
	if s.bare {
		s.writeEvent([][]byte{out})
		s.flush()
	} else {
		s.write(out)
	}
	if s.broken != nil {
		return 0, s.broken
	}
	return len(p), nil
}

// FlushError is what http.ResponseController looks for.
func (s *sdkWriter) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errAnswered
	}
	s.flush()
	return s.broken
}
