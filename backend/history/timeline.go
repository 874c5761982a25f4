package history

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Bounds of a Timeline.
const (
	maxFrames     = 2000
	maxFrameBytes = 8 << 20 // of all texts
	MaxFrame      = 8 << 10 // kept of one message
	frameAhead    = 1 << 10 // looked at beyond it, for secrets across the cut
)

// Frame is one message as it went over a connection, or what stood in its place.
type Frame struct {
	ID      int64
	At      time.Time
	From    string // "client", "server" or "drawbridge"
	Session string // of a client's connection; "" in the modern era
	Client  string // of a client's connection
	Server  string // of a server's connection, or of a client's that leads to one server
	Bytes   int    // of the whole message
	HTTP    string // request line or status, and headers, of a remote server; without secrets
	Text    string // without secrets, at most MaxFrame bytes
}

// Timeline keeps the newest messages of the servers and clients that somebody looks
// into, in memory. For all others it costs one look at a pointer.
type Timeline struct {
	// Redact takes secrets out of a text. It is set before use; nil takes none.
	Redact func(string) string

	watched atomic.Pointer[watched]

	mu     sync.Mutex // guards the fields below
	frames []Frame    // oldest first
	bytes  int
	last   int64
}

type watched struct{ servers, clients map[string]bool }

// Watch says whose messages are kept from now on. Those of others that were kept stay
// until newer ones take their place.
func (t *Timeline) Watch(servers, clients []string) {
	if len(servers) == 0 && len(clients) == 0 {
		t.watched.Store(nil)
		return
	}
	w := &watched{make(map[string]bool), make(map[string]bool)}
	for _, s := range servers {
		w.servers[s] = true
	}
	for _, c := range clients {
		w.clients[strings.ToLower(c)] = true
	}
	t.watched.Store(w)
}

// Server reports whether messages of a server are kept.
func (t *Timeline) Server(id string) bool {
	w := t.watched.Load()
	return w != nil && w.servers[id]
}

// clients reports whether messages of any client are kept.
func (t *Timeline) clients() bool {
	w := t.watched.Load()
	return w != nil && len(w.clients) > 0
}

// client reports whether messages of a client are kept, by any of its names.
func (t *Timeline) client(names ...string) bool {
	w := t.watched.Load()
	for _, name := range names {
		if w != nil && name != "" && w.clients[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

// Add keeps a frame. text may be cut already.
func (t *Timeline) Add(f Frame, text []byte) {
	f.Text = strings.ToValidUTF8(string(text[:min(len(text), MaxFrame+frameAhead)]), "\ufffd")
	if t.Redact != nil {
		f.Text = t.Redact(f.Text)
		if f.HTTP != "" {
			f.HTTP = t.Redact(f.HTTP)
		}
	}
	if len(f.Text) > MaxFrame {
		cut := MaxFrame
		for cut > 0 && !utf8.RuneStart(f.Text[cut]) {
			cut--
		}
		f.Text = strings.Clone(f.Text[:cut])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	f.ID = t.last
	t.frames = append(t.frames, f)
	t.bytes += len(f.Text) + len(f.HTTP)
	old := 0
	for len(t.frames)-old > maxFrames || t.bytes > maxFrameBytes {
		t.bytes -= len(t.frames[old].Text) + len(t.frames[old].HTTP)
		t.frames[old] = Frame{}
		old++
	}
	t.frames = t.frames[old:]
}

// Message keeps a message between a server and us.
func (t *Timeline) Message(server string, sent bool, at time.Time, http string, head []byte, bytes int) {
	from := "server"
	if sent {
		from = "drawbridge"
	}
	t.Add(Frame{At: at, From: from, Server: server, Bytes: bytes, HTTP: http}, head)
}

// Frames returns the newest frames of a session, or of a server, newest first. next is
// the before of the page that follows, 0 when there is none.
func (t *Timeline) Frames(session, server string, before int64, limit int) (page []Frame, next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.frames) - 1; i >= 0; i-- {
		f := &t.frames[i]
		if before > 0 && f.ID >= before || session != "" && f.Session != session || server != "" && f.Server != server {
			continue
		}
		if len(page) == limit {
			return page, page[limit-1].ID
		}
		page = append(page, *f)
	}
	return page, 0
}
