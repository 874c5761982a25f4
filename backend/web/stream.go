package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"
)

const (
	// Heartbeat is how often a stream that has no events sends a comment.
	Heartbeat    = 15 * time.Second
	writeTimeout = 10 * time.Second // for a reader that takes nothing
)

// Stream writes server-sent events.
type Stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer
}

// StreamEvent is one event. Its data is encoded as JSON.
type StreamEvent struct {
	Kind string
	Data any
}

// NewStream starts a response of server-sent events.
func NewStream(w http.ResponseWriter) *Stream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	NoStore(h)
	h.Set("X-Accel-Buffering", "no")
	return &Stream{w: w, rc: http.NewResponseController(w)}
}

// Send sends events in one write.
func (s *Stream) Send(events ...StreamEvent) error {
	s.buf.Reset()
	for _, e := range events {
		s.buf.WriteString("event: " + e.Kind + "\ndata: ")
		if err := json.NewEncoder(&s.buf).Encode(e.Data); err != nil { // ends with the only line break
			return err
		}
		s.buf.WriteByte('\n')
	}
	return s.write(s.buf.Bytes())
}

// Comment sends a comment, which readers ignore.
func (s *Stream) Comment(text string) error { return s.write([]byte(": " + text + "\n\n")) }

func (s *Stream) write(b []byte) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeTimeout)) // in a test there is no connection
	if _, err := s.w.Write(b); err != nil {
		return err
	}
	return s.rc.Flush()
}
