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
	errResponseEnded = errors.New("the response was already sent")
	keepAliveComment = []byte(": \n\n")
)

// responseWriter writes the messages of one HTTP response. Nothing is written until the form of the
// response is known: reply writes a JSON document, unless sendEvent or a keep-alive comment has
// begun an event stream. go-sdk uses it as an http.ResponseWriter through [sdkWriter].
type responseWriter struct {
	keepAliveInterval time.Duration // interval of keep-alive comments on a silent stream
	writeTimeout      time.Duration // deadline of one write
	controller        http.ResponseController
	lastWrite         atomic.Int64 // time of the last write, or of creation, since epoch

	mu               sync.Mutex
	w                http.ResponseWriter
	sdkDecidesStatus bool  // go-sdk may still refuse the request: no comment may begin the stream
	streaming        bool  // the headers of a stream have been written
	ended            bool  // the response is complete, or the HTTP handler returns
	writeErr         error // the first failed write
}

func (b *Bridge) newResponseWriter(w http.ResponseWriter, forSDK bool) *responseWriter {
	rw := &responseWriter{w: w, sdkDecidesStatus: forSDK, controller: *http.NewResponseController(w), keepAliveInterval: b.KeepAlive, writeTimeout: b.WriteLimit}
	rw.lastWrite.Store(int64(time.Since(epoch)))
	return rw
}

var epoch = time.Now()

// takeFromSDK makes the response ours: go-sdk has accepted the request.
func (rw *responseWriter) takeFromSDK() {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	rw.sdkDecidesStatus = false
}

// sinceLastWrite returns the time since the last write.
func (rw *responseWriter) sinceLastWrite() time.Duration {
	return time.Since(epoch) - time.Duration(rw.lastWrite.Load())
}

// sendKeepAlive sends an SSE comment.
func (rw *responseWriter) sendKeepAlive() {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if rw.ended || rw.writeErr != nil || rw.sdkDecidesStatus && !rw.streaming {
		return
	}
	rw.beginStream()
	rw.write(keepAliveComment)
	rw.flush()
}

// sendEvent sends one message, the concatenation of parts, as an SSE event. Events are sent in
// the order of the calls. The message must not be empty.
func (rw *responseWriter) sendEvent(parts ...[]byte) error {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if rw.ended {
		return errResponseEnded
	}
	rw.beginStream()
	rw.writeEvent(parts)
	rw.flush()
	return rw.writeErr
}

// reply sends the last message and calls end. The message is a JSON document with the given
// status if nothing was sent before, else an SSE event.
func (rw *responseWriter) reply(status int, parts ...[]byte) {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	if rw.ended {
		return
	}
	if rw.streaming {
		rw.writeEvent(parts)
	} else {
		size := 0
		for _, p := range parts {
			size += len(p)
		}
		h := rw.w.Header()
		h["Content-Type"] = jsonType
		h["Cache-Control"] = noStore
		if size > autoContentLength {
			h["Content-Length"] = []string{strconv.Itoa(size)}
		}
		rw.w.WriteHeader(status)
		rw.write(parts...)
	}
	rw.ended = true
}

// autoContentLength is the size up to which net/http sets Content-Length.
const autoContentLength = 2 << 10

var (
	jsonType   = []string{"application/json"}
	noStore    = []string{"no-store"}
	streamType = []string{"text/event-stream"}
)

// end makes all later writes do nothing. It must be called before the HTTP handler returns.
func (rw *responseWriter) end() {
	rw.mu.Lock()
	defer rw.mu.Unlock()
	rw.ended = true
}

func (rw *responseWriter) beginStream() {
	if rw.streaming {
		return
	}
	rw.streaming = true
	h := rw.w.Header()
	h["Content-Type"] = streamType
	setStreamHeaders(h)
	rw.w.WriteHeader(http.StatusOK)
}

func setStreamHeaders(h http.Header) {
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
}

var (
	eventPrefix = []byte("event: message\ndata: ")
	eventSuffix = []byte("\n\n")
)

func (rw *responseWriter) writeEvent(parts [][]byte) {
	rw.write(eventPrefix)
	for _, p := range parts {
		rw.write(removeLineBreaks(p))
	}
	rw.write(eventSuffix)
}

func (rw *responseWriter) write(parts ...[]byte) {
	now := time.Now()
	if rw.writeErr == nil {
		_ = rw.controller.SetWriteDeadline(now.Add(rw.writeTimeout))
	}
	rw.lastWrite.Store(int64(now.Sub(epoch)))
	for _, p := range parts {
		if rw.writeErr != nil {
			return
		}
		_, rw.writeErr = rw.w.Write(p)
	}
}

func (rw *responseWriter) flush() {
	if rw.writeErr == nil {
		rw.writeErr = rw.controller.Flush()
	}
}

// removeLineBreaks removes the line breaks between the tokens of valid JSON. Strings cannot contain
// raw line breaks.
func removeLineBreaks(p []byte) []byte {
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
