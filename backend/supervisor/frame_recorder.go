package supervisor

import (
	"bytes"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

// What a tape keeps of a connection.
const (
	tapeFrames   = 5
	remoteFrames = 10  // the head of an HTTP answer is one of its own
	tapeBytes    = 512 // of each frame
)

// Frame is a message, or what stood in its place, as it went over a server's pipe.
type Frame struct {
	At    time.Time `json:"at"`    // UTC, when its end was seen
	Sent  bool      `json:"sent"`  // by us
	Text  string    `json:"text"`  // the first 512 bytes; it holds what clients and servers said, secrets too
	Bytes int       `json:"bytes"` // its whole length
	// HTTP is the request line or the status, and the headers, a line each, of a remote
	// server. What may be secret in them is left out.
	HTTP string `json:"http,omitempty"`
}

// frameRecorder keeps the beginnings of the last frames of one connection. It is always on,
// and costs a search for the line's end and a copy of a few bytes.
type frameRecorder struct {
	mu     sync.Mutex
	frames [remoteFrames]recordedFrame
	most   int // frames that are kept; 0 is tapeFrames
	next   int
}

// recordedFrame is a Frame whose text is used again.
type recordedFrame struct {
	at    time.Time
	sent  bool
	text  []byte
	bytes int
	http  string
}

func (t *frameRecorder) size() int {
	if t.most > 0 {
		return t.most
	}
	return tapeFrames
}

func (t *frameRecorder) add(at time.Time, sent bool, http string, text []byte, bytes int) {
	t.mu.Lock()
	k := &t.frames[t.next%t.size()]
	k.at, k.sent, k.http, k.text, k.bytes = at, sent, http, append(k.text[:0], text...), bytes
	t.next++
	t.mu.Unlock()
}

// last returns the frames, oldest first.
func (t *frameRecorder) last() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.size()
	list := make([]Frame, 0, size)
	for i := max(0, t.next-size); i < t.next; i++ {
		k := &t.frames[i%size]
		list = append(list, Frame{At: k.at, Sent: k.sent, HTTP: k.http, Text: trimPartialRune(k.text), Bytes: k.bytes})
	}
	return list
}

// Observer is shown the messages of those servers that somebody looks into.
type Observer interface {
	Server(id string) bool
	// Message gets the beginning of a message, valid until it returns, and its whole length;
	// http is that of Frame.
	Message(server string, sent bool, at time.Time, http string, head []byte, bytes int)
}

// onlookerBytes is how much of a message an Onlooker is shown.
const onlookerBytes = 9 << 10

// lineRecorder cuts a stream into lines and puts them on a tape. One goroutine uses it.
type lineRecorder struct {
	tape     *frameRecorder
	server   string
	onlooker Observer // may be nil
	sent     bool
	watched  bool // this line is shown to the onlooker
	text     []byte
	bytes    int
}

func (h *lineRecorder) record(p []byte) {
	for len(p) > 0 {
		if h.bytes == 0 {
			h.watched = h.onlooker != nil && h.onlooker.Server(h.server)
		}
		most := tapeBytes
		if h.watched {
			most = onlookerBytes
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
				h.onlooker.Message(h.server, h.sent, now, "", h.text, h.bytes)
			}
			h.tape.add(now, h.sent, "", h.text[:min(len(h.text), tapeBytes)], h.bytes)
		}
		h.text, h.bytes, p = h.text[:0], 0, rest
	}
}

// trimPartialRune is text without the half of a character that was cut at its end.
func trimPartialRune(text []byte) string {
	for n := 0; n < utf8.UTFMax-1 && len(text) > 0; n++ {
		if r, size := utf8.DecodeLastRune(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return string(bytes.TrimRight(text, "\r"))
}

// recordedPipe is a pipe whose two streams pass a tape.
type recordedPipe struct {
	upstream.Pipe
	in  io.WriteCloser
	out io.Reader
}

func recordPipe(p upstream.Pipe, t *frameRecorder, server string, o Observer) upstream.Pipe {
	w := &recordingWriter{WriteCloser: p.Stdin(), try: newNonblockingWriter(p.Stdin()), head: lineRecorder{tape: t, server: server, onlooker: o, sent: true}}
	in := io.WriteCloser(w)
	if d, ok := w.WriteCloser.(deadliner); ok {
		in = &recordingDeadlineWriter{w, d}
	}
	return &recordedPipe{Pipe: p, in: in, out: &recordingReader{Reader: p.Stdout(), head: lineRecorder{tape: t, server: server, onlooker: o}}}
}

func (t *recordedPipe) Stdin() io.WriteCloser { return t.in }
func (t *recordedPipe) Stdout() io.Reader     { return t.out }

type deadliner interface{ SetWriteDeadline(time.Time) error }

type recordingWriter struct {
	io.WriteCloser
	head lineRecorder
	try  *nonblockingWriter // nil where the pipe can only be waited for
	seen int                // bytes that come again, because TryWrite did not write them
}

func (w *recordingWriter) Write(p []byte) (int, error) {
	again := min(w.seen, len(p))
	w.seen -= again
	w.head.record(p[again:]) // first: the answer may be there before Write returns
	return w.WriteCloser.Write(p)
}

// TryWrite writes what the pipe takes of p at this moment.
func (w *recordingWriter) TryWrite(p []byte) int {
	if w.try == nil {
		return 0
	}
	w.head.record(p)
	n := w.try.write(p)
	w.seen = len(p) - n
	return n
}

type recordingDeadlineWriter struct {
	*recordingWriter
	deadliner
}

type recordingReader struct {
	io.Reader
	head lineRecorder
}

func (r *recordingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.head.record(p[:n])
	return n, err
}
