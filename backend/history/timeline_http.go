package history

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/lazyregexp"
)

const sessionHeader = "Mcp-Session-Id"

// Clients returns a handler that records the requests of watched clients and their responses, and
// calls next. token is the name of the header that contains the name of the request's token;
// clientOf returns the client of a legacy session. While no client is watched, requests are passed
// on unchanged.
func (t *Timeline) Clients(next http.Handler, token string, clientOf func(session string) core.Client) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !t.clients() {
			next.ServeHTTP(w, r)
			return
		}
		x := &conversation{timeline: t, w: w, began: time.Now().UTC(), token: r.Header.Get(token), session: r.Header.Get(sessionHeader)}
		if server, ok := strings.CutPrefix(r.URL.Path, "/s/"); ok {
			x.server, _, _ = strings.Cut(server, "/")
		}
		if x.session != "" {
			x.client = clientOf(x.session)
		}
		if r.Body != nil {
			x.body = r.Body
			r.Body = (*conversationBody)(x)
		}
		defer x.end()
		next.ServeHTTP(x, r)
	})
}

// conversation is one HTTP request and its response. The response may be written by several
// goroutines.
type conversation struct {
	timeline *Timeline
	w        http.ResponseWriter
	body     io.ReadCloser
	began    time.Time
	token    string
	session  string
	server   string
	client   core.Client

	mu      sync.Mutex // guards the fields below
	asked   text
	told    bool // the request has been recorded
	wanted  bool // the client is watched
	stream  bool
	settled bool // stream has been set
	answer  text
}

// text is the beginning of a message and the size of the complete message.
type text struct {
	head []byte
	size int
}

func (x *text) add(p []byte) {
	x.head = append(x.head, p[:min(len(p), MaxFrame+frameAhead-len(x.head))]...)
	x.size += len(p)
}

type conversationBody conversation

func (b *conversationBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	b.mu.Lock()
	b.asked.add(p[:n])
	b.mu.Unlock()
	return n, err
}

func (b *conversationBody) Close() error { return b.body.Close() }

// claimed matches the name of the client in the clientInfo of initialize or _meta.
var claimed = lazyregexp.New(`(?i)clientInfo"\s*:\s*\{[^{}]*?"name"\s*:\s*"([^"\\]{1,128})"`)

// tell records the request, once, before the first part of its response. It must be called with
// x.mu held.
func (x *conversation) tell() {
	if x.told {
		return
	}
	x.told = true
	if x.client.Name == "" {
		if m := claimed().FindSubmatch(x.asked.head); m != nil {
			x.client.Name = string(m[1])
		}
	}
	if x.session == "" {
		x.session = x.w.Header().Get(sessionHeader)
	}
	x.wanted = x.timeline.client(x.token, x.client.Name)
	if x.wanted && x.asked.size > 0 {
		x.keep("client", x.began, &x.asked)
	}
}

func (x *conversation) keep(from string, at time.Time, what *text) {
	name := x.client.Name
	if name == "" {
		name = x.token
	}
	x.timeline.Add(Frame{At: at, From: from, Session: x.session, Client: name, Server: x.server, Bytes: what.size}, what.head)
}

// Header implements http.ResponseWriter.
func (x *conversation) Header() http.Header { return x.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (x *conversation) WriteHeader(status int) { x.w.WriteHeader(status) }

// Unwrap returns the original ResponseWriter. It is used by http.ResponseController.
func (x *conversation) Unwrap() http.ResponseWriter { return x.w }

// Flush implements http.Flusher.
func (x *conversation) Flush() { _ = http.NewResponseController(x.w).Flush() }

func (x *conversation) Write(p []byte) (int, error) {
	x.mu.Lock()
	x.tell()
	if x.wanted {
		if !x.settled {
			x.settled, x.stream = true, strings.HasPrefix(x.w.Header().Get("Content-Type"), "text/event-stream")
		}
		x.see(p)
	}
	x.mu.Unlock()
	return x.w.Write(p)
}

// see collects a response, and records the events of a stream one by one. It must be called with
// x.mu held.
func (x *conversation) see(p []byte) {
	if !x.stream {
		x.answer.add(p)
		return
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte{'\n'})
		x.answer.add(line)
		if !ended {
			return
		}
		p = rest
		if data, ok := bytes.CutPrefix(x.answer.head, []byte("data:")); ok {
			size := x.answer.size - (len(x.answer.head) - len(data))
			data = bytes.TrimSpace(data)
			x.keep("drawbridge", time.Now().UTC(), &text{data, size})
		}
		x.answer = text{head: x.answer.head[:0]}
	}
}

func (x *conversation) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.tell()
	if x.wanted && !x.stream && x.answer.size > 0 {
		x.keep("drawbridge", time.Now().UTC(), &x.answer)
	}
}
