package shim

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const (
	// maxInFlight bounds the requests that are on their way at once.
	maxInFlight = 128
	// maxPending bounds the requests that are in flight or wait for their turn, and
	// maxPendingBytes their size. One beyond that is answered with an error.
	maxPending      = 1024
	maxPendingBytes = 64 << 20
	// patience is how long a message waits for a daemon that is starting.
	patience = 60 * time.Second
	// started is when a start is surely over.
	started = 2 * time.Second
	// lastWords is how long answers are waited for after the client closed stdin.
	lastWords = 10 * time.Second
	// retryEvery is the pause between two tries to reach a daemon that went away.
	retryEvery = 500 * time.Millisecond
)

// Address is where the bridge is and how to get in.
type Address struct {
	URL   string // of the endpoint, such as http://127.0.0.1:7575/mcp
	Token string
}

// Options is what a Shim needs; Log may be nil.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Find returns where the daemon is now. With start it starts one when none runs,
	// and waits for it until ctx ends; without, it fails at once.
	Find func(ctx context.Context, start bool) (Address, error)
	// Dial connects to the daemon; nil is by TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ID tells this process from other shims of the same client.
	ID string
	// Dir is the absolute path of the folder in which the client started this process,
	// "" when unknown: what a client without roots works in.
	Dir string
	Log *slog.Logger
}

// Shim passes messages until the client closes stdin. Make it with New.
type Shim struct {
	o    Options
	http *http.Client

	write sync.Mutex // one message at a time on Out

	mu      sync.Mutex
	pending map[string]*pending // requests without an answer, by raw id
	count   int                 // of them; an id may be used twice
	bytes   int                 // their size
	address Address             // the last that worked
	modern  bool                // a request of the modern era was passed on

	session session
	slots   chan struct{}
	ended   chan struct{} // closed when the client has closed stdin
	running sync.WaitGroup
}

// New checks the options and starts nothing.
func New(o Options) (*Shim, error) {
	if o.In == nil || o.Out == nil || o.Find == nil {
		return nil, errors.New("the shim needs stdin, stdout and a way to find the daemon")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	transport := &http.Transport{
		DialContext:           o.Dial,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       30 * time.Second,
		ResponseHeaderTimeout: 0, // a call may take as long as the daemon lets it
		DisableCompression:    true,
	}
	s := &Shim{
		o: o, pending: make(map[string]*pending), slots: make(chan struct{}, maxInFlight), ended: make(chan struct{}),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	s.session.changed = make(chan struct{})
	return s, nil
}

// Run passes messages until stdin ends, stdout breaks or ctx ends. The error is nil
// when the client simply closed stdin.
func (s *Shim) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.http.CloseIdleConnections()
	defer time.AfterFunc(started, debug.FreeOSMemory).Stop() // what only the start needed
	in := s.o.In
	if f, ok := in.(*os.File); ok {
		file, restore := polled(f)
		defer restore()
		in = file
	}
	messages := make(chan []byte)
	end := make(chan error, 1)
	go func() {
		err := readMessages(ctx, in, messages, s.oversized)
		close(s.ended)
		end <- err
	}()
	for {
		select {
		case msg := <-messages:
			s.fromClient(ctx, cancel, msg)
		case err := <-end:
			s.finish(cancel)
			return err
		case <-ctx.Done():
			s.finish(cancel)
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				return cause
			}
			return nil
		}
	}
}

// finish waits a moment for answers that are on their way, ends the session and everything else.
func (s *Shim) finish(cancel context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	s.session.stopListening()
	select {
	case <-done:
	case <-time.After(lastWords):
	}
	s.closeSession()
	cancel(nil)
	<-done
}

// fromClient takes one message. Requests run side by side; what has no answer
// keeps its order, and so does the legacy handshake.
func (s *Shim) fromClient(ctx context.Context, cancel context.CancelCauseFunc, raw []byte) {
	m, problem := parseMessage(raw)
	if problem != nil {
		s.answer(problem)
		return
	}
	switch {
	case m.env.Kind == wire.Request && m.env.Method == "initialize" && !m.modern:
		s.initialize(ctx, m)
	case m.env.Kind == wire.Request:
		s.begin(ctx, m)
	case m.env.Kind == wire.Notification && m.env.Method == "notifications/cancelled" && s.cancelled(m):
	default:
		s.tell(ctx, m)
	}
	if s.broken() {
		cancel(io.ErrClosedPipe)
	}
}

// message is one JSON-RPC message of the client and what its headers are made of.
type message struct {
	raw    []byte
	env    wire.Envelope
	params []byte
	parts  wire.Params
	modern bool
}

// parseMessage reads the envelope. problem is a response for the client when the
// message cannot be passed on.
func parseMessage(raw []byte) (m message, problem []byte) {
	env, err := wire.Scan(raw)
	if err != nil {
		code := wire.CodeParse
		if e, ok := errors.AsType[*wire.Error](err); ok {
			code = e.Code
		}
		return m, wire.AppendError(nil, nil, code, err.Error(), nil)
	}
	m = message{raw: raw, env: env, params: wire.Bytes(raw, env.Params)}
	if env.Kind != wire.Request && env.Kind != wire.Notification && env.Kind != wire.Response {
		return m, wire.AppendError(nil, nil, wire.CodeInvalidRequest, "one JSON-RPC message per line is expected", nil)
	}
	if m.parts, err = wire.ScanParams(m.params); err != nil {
		return m, wire.AppendError(nil, wire.Bytes(raw, env.ID), wire.CodeInvalidParams, err.Error(), nil)
	}
	m.modern = !m.parts.ProtocolVersion.Empty()
	return m, nil
}

// answer writes one message to the client, on one line.
func (s *Shim) answer(msg []byte) {
	line := append(wire.Compact(make([]byte, 0, len(msg)+1), msg), '\n')
	s.write.Lock()
	defer s.write.Unlock()
	if s.o.Out == nil {
		return
	}
	if _, err := s.o.Out.Write(line); err != nil {
		s.o.Out = nil // the client is gone
	}
}

func (s *Shim) broken() bool {
	s.write.Lock()
	defer s.write.Unlock()
	return s.o.Out == nil
}

func (s *Shim) fail(m message, code int, text string) {
	s.answer(wire.AppendError(nil, wire.Bytes(m.raw, m.env.ID), code, text, nil))
}

// oversized answers a line that is too long to be kept.
func (s *Shim) oversized() {
	s.answer(wire.AppendError(nil, nil, wire.CodeInvalidRequest, "the message is larger than 16 MiB", nil))
}

// describe puts an error into words for the client.
func describe(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		if e.Hint != "" {
			return e.Message + ". " + e.Hint
		}
		return e.Message
	}
	return err.Error()
}
