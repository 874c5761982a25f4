package upstream

import (
	"bytes"
	"io"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits of what is recorded of a connection.
const (
	maxRecordedFrames = 5
	maxRemoteFrames   = 10  // the headers of an HTTP response are a frame of their own
	maxRecordedBytes  = 512 // recorded of each frame
)

// Frame is one message, or a line that is not a message, as it was exchanged with a server.
type Frame struct {
	At    time.Time `json:"at"`    // UTC, when its last byte was read or written
	Sent  bool      `json:"sent"`  // sent by us
	Text  string    `json:"text"`  // the first 512 bytes as they were exchanged, secrets included
	Bytes int       `json:"bytes"` // length of the whole frame
	// HTTP is, for a remote server, the request line or status line and the headers, one per
	// line. Values that may be secret are left out.
	HTTP string `json:"http,omitempty"`
}

// frameRecorder keeps the beginnings of the last frames of one connection. It is always
// active; it costs one search for the end of each line and a copy of at most 512 bytes.
type frameRecorder struct {
	mu     sync.Mutex
	frames [maxRemoteFrames]recordedFrame
	limit  int // how many frames are kept; 0 means maxRecordedFrames
	next   int
}

// recordedFrame is a Frame whose text buffer is reused.
type recordedFrame struct {
	at    time.Time
	sent  bool
	text  []byte
	bytes int
	http  string
}

func (t *frameRecorder) capacity() int {
	if t.limit > 0 {
		return t.limit
	}
	return maxRecordedFrames
}

func (t *frameRecorder) add(at time.Time, sent bool, http string, text []byte, bytes int) {
	t.mu.Lock()
	k := &t.frames[t.next%t.capacity()]
	k.at, k.sent, k.http, k.text, k.bytes = at, sent, http, append(k.text[:0], text...), bytes
	t.next++
	t.mu.Unlock()
}

// last returns the frames, oldest first.
func (t *frameRecorder) last() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.capacity()
	list := make([]Frame, 0, size)
	for i := max(0, t.next-size); i < t.next; i++ {
		k := &t.frames[i%size]
		list = append(list, Frame{At: k.at, Sent: k.sent, HTTP: k.http, Text: trimPartialRune(k.text), Bytes: k.bytes})
	}
	return list
}

// Observer receives the messages of the servers that the user is debugging.
type Observer interface {
	WatchesServer(id string) bool
	// Message gets the beginning of a message, valid until Message returns, and the length of
	// the whole message; http is the same as in Frame.
	Message(server string, sent bool, at time.Time, http string, head []byte, bytes int)
}

const observerBytes = 9 << 10

// lineRecorder splits a stream into lines and adds them to a frameRecorder. It is not safe for
// concurrent use.
type lineRecorder struct {
	recorder *frameRecorder
	server   string
	observer Observer // may be nil
	sent     bool
	watched  bool // the current line is passed to the observer
	text     []byte
	bytes    int
}

func (h *lineRecorder) record(p []byte) {
	for len(p) > 0 {
		if h.bytes == 0 {
			h.watched = h.observer != nil && h.observer.WatchesServer(h.server)
		}
		most := maxRecordedBytes
		if h.watched {
			most = observerBytes
		}
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		h.text = append(h.text, line[:max(0, min(len(line), most-len(h.text)))]...)
		h.bytes += len(line)
		if !ended {
			return
		}
		if h.bytes > 0 {
			now := time.Now().UTC()
			if h.watched {
				h.observer.Message(h.server, h.sent, now, "", h.text, h.bytes)
			}
			h.recorder.add(now, h.sent, "", h.text[:min(len(h.text), maxRecordedBytes)], h.bytes)
		}
		h.text, h.bytes, p = h.text[:0], 0, rest
	}
}

// trimPartialRune returns text without an incomplete UTF-8 sequence at its end.
func trimPartialRune(text []byte) string {
	for n := 0; n < utf8.UTFMax-1 && len(text) > 0; n++ {
		if r, size := utf8.DecodeLastRune(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return string(bytes.TrimRight(text, "\r"))
}

// recordedPipe is a pipe whose two streams are recorded.
type recordedPipe struct {
	Pipe
	in  io.WriteCloser
	out io.Reader
}

func recordPipe(p Pipe, t *frameRecorder, server string, o Observer) Pipe {
	w := &recordingWriter{WriteCloser: p.Stdin(), recorder: lineRecorder{recorder: t, server: server, observer: o, sent: true}}
	in := io.WriteCloser(w)
	if d, ok := w.WriteCloser.(deadliner); ok {
		in = &recordingDeadlineWriter{w, d}
	}
	return &recordedPipe{Pipe: p, in: in, out: &recordingReader{Reader: p.Stdout(), recorder: lineRecorder{recorder: t, server: server, observer: o}}}
}

func (t *recordedPipe) Stdin() io.WriteCloser { return t.in }
func (t *recordedPipe) Stdout() io.Reader     { return t.out }

type deadliner interface{ SetWriteDeadline(time.Time) error }

type recordingWriter struct {
	io.WriteCloser
	recorder lineRecorder
}

func (w *recordingWriter) Write(p []byte) (int, error) {
	w.recorder.record(p) // before writing: the answer may arrive before Write returns
	return w.WriteCloser.Write(p)
}

type recordingDeadlineWriter struct {
	*recordingWriter
	deadliner
}

type recordingReader struct {
	io.Reader
	recorder lineRecorder
}

func (r *recordingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.recorder.record(p[:n])
	return n, err
}
