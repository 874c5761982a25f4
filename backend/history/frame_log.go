package history

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// Limits of a FrameLog.
const (
	maxFrames     = 2000
	maxFrameBytes = 8 << 20 // total size of all texts in bytes
	MaxFrame      = 8 << 10 // maximum bytes of one message
	frameAhead    = 1 << 10 // bytes beyond MaxFrame that are searched for secrets, so that a secret that crosses the limit is recognized
)

// Frame is one message that was sent over a connection, or a placeholder for it.
type Frame struct {
	ID      int64
	At      time.Time
	From    string // "client", "server" or "drawbridge"
	Session string // session of a client connection; "" in the modern era
	Client  string // client of a client connection
	Server  string // server of a server connection, or of a client connection to a single server
	Bytes   int    // size of the complete message
	HTTP    string // request line or status line, and headers, of a remote server; redacted
	Text    string // redacted, at most MaxFrame bytes
}

// FrameLog keeps the most recent messages of the watched servers and clients in memory. For all
// others, it only loads an atomic pointer. Its methods are safe for concurrent use.
type FrameLog struct {
	// Redact removes secrets from a text. It must be set before use; nil removes nothing.
	Redact func(string) string

	watched atomic.Pointer[watched]

	mu     sync.Mutex // guards the fields below
	frames []Frame    // oldest first
	bytes  int
	last   int64
}

type watched struct{ servers, clients map[string]bool }

// Watch replaces the set of servers and clients whose messages are recorded. Recorded messages of
// others remain until newer ones replace them.
func (t *FrameLog) Watch(servers, clients []string) {
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

// WatchesServer reports whether the messages of a server are recorded.
func (t *FrameLog) WatchesServer(id string) bool {
	w := t.watched.Load()
	return w != nil && w.servers[id]
}

// anyClientWatched reports whether the messages of any client are recorded.
func (t *FrameLog) anyClientWatched() bool {
	w := t.watched.Load()
	return w != nil && len(w.clients) > 0
}

// clientWatched reports whether the messages of a client are recorded, under any of its names.
func (t *FrameLog) clientWatched(names ...string) bool {
	w := t.watched.Load()
	for _, name := range names {
		if w != nil && name != "" && w.clients[strings.ToLower(name)] {
			return true
		}
	}
	return false
}

// Add records a frame with the given text, which may be truncated already. It does not retain
// text.
func (t *FrameLog) Add(f Frame, text []byte) {
	f.Text = strings.ToValidUTF8(string(text[:min(len(text), MaxFrame+frameAhead)]), "\ufffd")
	if t.Redact != nil {
		f.Text = t.Redact(f.Text)
		if f.HTTP != "" {
			f.HTTP = t.Redact(f.HTTP)
		}
	}
	if len(f.Text) > MaxFrame {
		f.Text = strings.Clone(core.CutBytes(f.Text, MaxFrame))
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

// Message records a message between a server and Drawbridge. head is the beginning of the message
// and bytes its size.
func (t *FrameLog) Message(server string, sent bool, at time.Time, http string, head []byte, bytes int) {
	from := "server"
	if sent {
		from = "drawbridge"
	}
	t.Add(Frame{At: at, From: from, Server: server, Bytes: bytes, HTTP: http}, head)
}

// Frames returns the frames of a session, or of a server, newest first. before and next are
// cursors: next is the value of before for the next page, or 0 if there is none.
func (t *FrameLog) Frames(session, server string, before int64, limit int) (page []Frame, next int64) {
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
