package history

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

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
