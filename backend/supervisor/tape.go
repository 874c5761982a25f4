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

// tape keeps the beginnings of the last frames of one connection. It is always on,
// and costs a search for the line's end and a copy of a few bytes.
type tape struct {
	mu     sync.Mutex
	frames [remoteFrames]kept
	most   int // frames that are kept; 0 is tapeFrames
	next   int
}

// kept is a Frame whose text is used again.
type kept struct {
	at    time.Time
	sent  bool
	text  []byte
	bytes int
	http  string
}

func (t *tape) size() int {
	if t.most > 0 {
		return t.most
	}
	return tapeFrames
}

func (t *tape) add(at time.Time, sent bool, http string, text []byte, bytes int) {
	t.mu.Lock()
	k := &t.frames[t.next%t.size()]
	k.at, k.sent, k.http, k.text, k.bytes = at, sent, http, append(k.text[:0], text...), bytes
	t.next++
	t.mu.Unlock()
}

// last returns the frames, oldest first.
func (t *tape) last() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := t.size()
	list := make([]Frame, 0, size)
	for i := max(0, t.next-size); i < t.next; i++ {
		k := &t.frames[i%size]
		list = append(list, Frame{At: k.at, Sent: k.sent, HTTP: k.http, Text: whole(k.text), Bytes: k.bytes})
	}
	return list
}

// Onlooker is shown the messages of those servers that somebody looks into.
type Onlooker interface {
	Server(id string) bool
	// Message gets the beginning of a message, valid until it returns, and its whole length;
	// http is that of Frame.
	Message(server string, sent bool, at time.Time, http string, head []byte, bytes int)
}

// onlookerBytes is how much of a message an Onlooker is shown.
const onlookerBytes = 9 << 10

// head cuts a stream into lines and puts them on a tape. One goroutine uses it.
type head struct {
	tape     *tape
	server   string
	onlooker Onlooker // may be nil
	sent     bool
	watched  bool // this line is shown to the onlooker
	text     []byte
	bytes    int
}

func (h *head) see(p []byte) {
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

// whole is text without the half of a character that was cut at its end.
func whole(text []byte) string {
	for n := 0; n < utf8.UTFMax-1 && len(text) > 0; n++ {
		if r, size := utf8.DecodeLastRune(text); r != utf8.RuneError || size != 1 {
			break
		}
		text = text[:len(text)-1]
	}
	return string(bytes.TrimRight(text, "\r"))
}

// taped is a pipe whose two streams pass a tape.
type taped struct {
	upstream.Pipe
	in  io.WriteCloser
	out io.Reader
}

func tapePipe(p upstream.Pipe, t *tape, server string, o Onlooker) upstream.Pipe {
	w := &tapedWriter{WriteCloser: p.Stdin(), try: newAttempt(p.Stdin()), head: head{tape: t, server: server, onlooker: o, sent: true}}
	in := io.WriteCloser(w)
	if d, ok := w.WriteCloser.(deadliner); ok {
		in = &tapedDeadlineWriter{w, d}
	}
	return &taped{Pipe: p, in: in, out: &tapedReader{Reader: p.Stdout(), head: head{tape: t, server: server, onlooker: o}}}
}

func (t *taped) Stdin() io.WriteCloser { return t.in }
func (t *taped) Stdout() io.Reader     { return t.out }

type deadliner interface{ SetWriteDeadline(time.Time) error }

type tapedWriter struct {
	io.WriteCloser
	head head
	try  *attempt // nil where the pipe can only be waited for
	seen int      // bytes that come again, because TryWrite did not write them
}

func (w *tapedWriter) Write(p []byte) (int, error) {
	again := min(w.seen, len(p))
	w.seen -= again
	w.head.see(p[again:]) // first: the answer may be there before Write returns
	return w.WriteCloser.Write(p)
}

// TryWrite writes what the pipe takes of p at this moment.
func (w *tapedWriter) TryWrite(p []byte) int {
	if w.try == nil {
		return 0
	}
	w.head.see(p)
	n := w.try.write(p)
	w.seen = len(p) - n
	return n
}

type tapedDeadlineWriter struct {
	*tapedWriter
	deadliner
}

type tapedReader struct {
	io.Reader
	head head
}

func (r *tapedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.head.see(p[:n])
	return n, err
}
