package bridge

import (
	"bytes"
	"net/http"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// sdkWriter lets go-sdk write through a responseWriter. Comments are sent only after a stream
// has begun, because until then the SDK may still set a status. If the SDK refuses a
// request with plain text, the client gets a JSON-RPC error with the id of its request.
type sdkWriter struct {
	*responseWriter
	id            []byte // of the request; nil if it has none
	substituteID  []byte // the id that go-sdk was given instead of id; nil if it was given id
	refusedStatus int    // status of a plain-text refusal that the SDK is about to write
}

func (sw *sdkWriter) Header() http.Header { return sw.w.Header() }

func (sw *sdkWriter) WriteHeader(status int) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	switch {
	case sw.ended:
	case !sw.streaming && status >= 400 && sw.id != nil && strings.HasPrefix(sw.w.Header().Get("Content-Type"), "text/plain"):
		sw.refusedStatus = status
	case sw.streaming:
		// Too late for a status: the SDK writes the reply next, without SSE framing.
		sw.unframed = status != http.StatusOK
	default:
		sw.beginStreamIfEvents(status)
		sw.w.WriteHeader(status)
	}
}

func (sw *sdkWriter) beginStreamIfEvents(status int) {
	if sw.streaming || status != http.StatusOK || sw.w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	sw.streaming = true
	setStreamHeaders(sw.w.Header())
	sw.timer = time.AfterFunc(sw.keepAliveInterval, sw.sendKeepAlive)
}

func (sw *sdkWriter) Write(p []byte) (int, error) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.ended {
		return 0, errResponseEnded
	}
	out := p
	if sw.refusedStatus != 0 {
		sw.w.Header()["Content-Type"] = jsonType
		sw.w.Header().Del("Content-Length")
		sw.w.WriteHeader(sw.refusedStatus)
		sw.refusedStatus = 0
		out = sdkError(sw.id, string(p))
	} else {
		sw.beginStreamIfEvents(http.StatusOK)
	}
	if sw.substituteID != nil {
		out = bytes.ReplaceAll(out, sw.substituteID, sw.id)
	}
	if sw.unframed {
		sw.writeEvent([][]byte{out})
		sw.flush()
	} else {
		sw.write(out)
	}
	if sw.writeErr != nil {
		return 0, sw.writeErr
	}
	return len(p), nil
}

// FlushError implements the flush of http.ResponseController.
func (sw *sdkWriter) FlushError() error {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.ended {
		return errResponseEnded
	}
	sw.flush()
	return sw.writeErr
}

// sdkError converts a plain-text error of go-sdk to a JSON-RPC error.
func sdkError(id []byte, text string) []byte {
	return wire.AppendError(nil, id, codeInvalidRequest, strings.TrimSpace(text), nil)
}
