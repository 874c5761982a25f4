package history

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/loopback"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
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

const sessionHeader = "Mcp-Session-Id"

// Clients returns a handler that records the requests of watched clients and their responses, and
// calls next. token is the name of the header that contains the name of the request's token;
// clientOf returns the client of a legacy session. While no client is watched, requests are passed
// on unchanged.
func (t *FrameLog) Clients(next http.Handler, token string, clientOf func(session string) core.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.anyClientWatched() {
			next.ServeHTTP(w, r)
			return
		}
		x := &exchange{log: t, w: w, startedAt: time.Now().UTC(), token: r.Header.Get(token), session: r.Header.Get(sessionHeader)}
		if server, ok := strings.CutPrefix(r.URL.Path, "/s/"); ok {
			x.server, _, _ = strings.Cut(server, "/")
		}
		if x.session != "" {
			x.client = clientOf(x.session)
		}
		if r.Header.Get(loopback.GuestHeader) != "" {
			x.client.Name = x.token
		}
		if r.Body != nil {
			x.body = r.Body
			r.Body = (*requestBodyRecorder)(x)
		}
		defer x.end()
		next.ServeHTTP(x, r)
	})
}

// exchange is one HTTP request and its response. The response may be written by several
// goroutines.
type exchange struct {
	log       *FrameLog
	w         http.ResponseWriter
	body      io.ReadCloser
	startedAt time.Time
	token     string
	session   string
	server    string
	client    core.Client

	mu           sync.Mutex // guards the fields below
	request      prefix
	requestAdded bool // the request has been recorded
	isWatched    bool // the client is watched
	stream       bool
	streamKnown  bool // stream has been set
	response     prefix
}

// prefix is the beginning of a message and the size of the complete message.
type prefix struct {
	head []byte
	size int
}

func (x *prefix) add(p []byte) {
	x.head = append(x.head, p[:min(len(p), MaxFrame+frameAhead-len(x.head))]...)
	x.size += len(p)
}

type requestBodyRecorder exchange

func (b *requestBodyRecorder) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.mu.Lock()
	b.request.add(p[:n])
	b.mu.Unlock()
	return n, err
}

func (b *requestBodyRecorder) Close() error { return b.body.Close() }

// clientInfoName matches the name of the client in the clientInfo of initialize or _meta.
var clientInfoName = osutil.LazyRegexp(`(?i)clientInfo"\s*:\s*\{[^{}]*?"name"\s*:\s*"([^"\\]{1,128})"`)

// addRequest records the request, once, before the first part of its response. It must be called
// with x.mu held.
func (x *exchange) addRequest() {
	if x.requestAdded {
		return
	}
	x.requestAdded = true
	if x.client.Name == "" {
		if m := clientInfoName().FindSubmatch(x.request.head); m != nil {
			x.client.Name = string(m[1])
		}
	}
	if x.session == "" {
		x.session = x.w.Header().Get(sessionHeader)
	}
	x.isWatched = x.log.clientWatched(x.token, x.client.Name)
	if x.isWatched && x.request.size > 0 {
		x.addFrame("client", x.startedAt, &x.request)
	}
}

func (x *exchange) addFrame(from string, at time.Time, what *prefix) {
	name := x.client.Name
	if name == "" {
		name = x.token
	}
	x.log.Add(Frame{At: at, From: from, Session: x.session, Client: name, Server: x.server, Bytes: what.size}, what.head)
}

// Header implements http.ResponseWriter.
func (x *exchange) Header() http.Header { return x.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) { x.w.WriteHeader(status) }

// Unwrap returns the original ResponseWriter. It is used by http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.w }

// Flush implements http.Flusher.
func (x *exchange) Flush() { _ = http.NewResponseController(x.w).Flush() }

func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	x.addRequest()
	if x.isWatched {
		if !x.streamKnown {
			x.streamKnown, x.stream = true, strings.HasPrefix(x.w.Header().Get("Content-Type"), "text/event-stream")
		}
		x.addResponse(p)
	}
	x.mu.Unlock()
	return x.w.Write(p)
}

// addResponse collects a response, and records the events of a stream one by one. It must be
// called with x.mu held.
func (x *exchange) addResponse(p []byte) {
	if !x.stream {
		x.response.add(p)
		return
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		x.response.add(line)
		if !ended {
			return
		}
		p = rest
		if data, ok := bytes.CutPrefix(x.response.head, []byte("data:")); ok {
			size := x.response.size - (len(x.response.head) - len(data))
			data = bytes.TrimSpace(data)
			x.addFrame("drawbridge", time.Now().UTC(), &prefix{data, size})
		}
		x.response = prefix{head: x.response.head[:0]}
	}
}

func (x *exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.addRequest()
	if x.isWatched && !x.stream && x.response.size > 0 {
		x.addFrame("drawbridge", time.Now().UTC(), &x.response)
	}
}
