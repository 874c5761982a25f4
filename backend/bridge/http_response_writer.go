package bridge

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var (
	errAnswered = errors.New("the answer has been sent")
	comment     = []byte(": \n\n")
)

// On the fast path nothing is written until the form of the response is known: reply writes a JSON
// document, unless sendEvent or a keep-alive comment has begun an event stream. go-sdk uses it as
// an http.ResponseWriter through [sdkWriter].
type responseWriter struct {
	every time.Duration // interval of keep-alive comments on a silent stream
	limit time.Duration // deadline of one write
	ctl   http.ResponseController
	spoke atomic.Int64 // time of the last write, or of creation, since epoch

	mu        sync.Mutex
	w         http.ResponseWriter
	timer     *time.Timer // sends keep-alive comments; nil without a stream, or if inFlightRequests sends them
	streaming bool        // the headers of a stream have been written
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

// silence returns the time since the last write.
func (o *responseWriter) silence() time.Duration {
	return time.Since(epoch) - time.Duration(o.spoke.Load())
}

// keepAlive sends an SSE comment.
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

// sendEvent sends one message, the concatenation of parts, as an SSE event. Events are sent in
// the order of the calls. The message must not be empty.
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

// reply sends the last message and calls end. The message is a JSON document with the given
// status if nothing was sent before, else an SSE event.
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

// ownLength is the size up to which net/http sets Content-Length.
const ownLength = 2 << 10

var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	streamType = []string{"text/event-stream"}
)

// end makes all later writes do nothing. It must be called before the HTTP handler returns.
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

// oneLine removes the line breaks between the tokens of valid JSON. Strings cannot contain
// raw line breaks.
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
