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
	id      []byte // of the request; nil if it has none
	standIn []byte // the id that go-sdk was given instead of id; nil if it was given id
	refused int    // status of a plain-text refusal that the SDK is about to write
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
		// Too late for a status: the SDK writes the reply next, without SSE framing.
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

// FlushError implements the flush of http.ResponseController.
func (s *sdkWriter) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errAnswered
	}
	s.flush()
	return s.broken
}

// sdkError converts a plain-text error of go-sdk to a JSON-RPC error.
func sdkError(id []byte, text string) []byte {
	return wire.AppendError(nil, id, codeInvalidRequest, strings.TrimSpace(text), nil)
}
