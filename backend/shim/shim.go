package shim

import (
	"bytes"
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
	// maxInFlight bounds the requests that are sent at the same time.
	maxInFlight = 128
	// maxPending bounds the requests that are in flight or wait for a slot, and maxPendingBytes
	// their total size. Further requests get an error.
	maxPending      = 1024
	maxPendingBytes = 64 << 20
	// daemonTimeout is how long a message waits for a daemon that is starting.
	daemonTimeout = 60 * time.Second
	// memoryReleaseDelay is how long after the start the memory that only the start needed is
	// released.
	memoryReleaseDelay = 2 * time.Second
	// drainTimeout is how long responses are awaited after the client has closed stdin.
	drainTimeout = 10 * time.Second
	// retryInterval is the delay between two attempts to reach a daemon that is not running.
	retryInterval = 500 * time.Millisecond
)

// Address is the URL of the bridge and the token for it.
type Address struct {
	URL   string // of the endpoint, such as http://127.0.0.1:7575/mcp
	Token string
}

// Options configures a Shim. In, Out and Find are required.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Find returns the current address of the daemon. If start is true and no daemon is running, it
	// starts one and waits for it until ctx is done; otherwise it fails immediately.
	Find func(ctx context.Context, start bool) (Address, error)
	// Dial connects to the daemon; nil: TCP.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// ID distinguishes this process from other shims of the same client.
	ID string
	// Dir is the absolute path of the folder in which the client started this process, or "". It is
	// the workspace of a client without roots.
	Dir string
	Log *slog.Logger
}

// Shim forwards messages until the client closes stdin. It must be created with New.
type Shim struct {
	o    Options
	http *http.Client

	writeMu sync.Mutex // serializes writes to Out

	mu           sync.Mutex
	pending      map[string]*cancellableRequest // requests without a response, by raw id
	pendingCount int                            // number of such requests; a client may reuse an id
	pendingBytes int                            // total size of such requests
	address      Address                        // the last one that Find returned
	modern       bool                           // a modern request was forwarded

	session session
	slots   chan struct{}
	ended   chan struct{} // closed when the client has closed stdin
	running sync.WaitGroup
}

// New returns a Shim, or an error if a required option is missing.
func New(o Options) (*Shim, error) {
	if o.In == nil || o.Out == nil || o.Find == nil {
		return nil, errors.New("the shim requires stdin, stdout and a way to find the daemon")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	transport := &http.Transport{
		DialContext:           o.Dial,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       30 * time.Second,
		ResponseHeaderTimeout: 0, // the daemon limits the duration of calls
		DisableCompression:    true,
	}
	s := &Shim{
		o: o, pending: make(map[string]*cancellableRequest), slots: make(chan struct{}, maxInFlight), ended: make(chan struct{}),
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	s.session.streamEnd = make(chan struct{})
	return s, nil
}

// Run forwards messages until stdin ends, stdout fails or ctx is done. It returns nil if the client
// has closed stdin.
func (s *Shim) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.http.CloseIdleConnections()
	defer time.AfterFunc(memoryReleaseDelay, debug.FreeOSMemory).Stop()
	in := s.o.In
	if f, ok := in.(*os.File); ok {
		file, restore := pollable(f)
		defer restore()
		in = file
	}
	messages := make(chan []byte)
	end := make(chan error, 1)
	go func() {
		err := readMessages(ctx, in, messages, s.respondOversized)
		close(s.ended)
		end <- err
	}()
	for {
		select {
		case msg := <-messages:
			s.handleMessage(ctx, cancel, msg)
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

// finish ends what only listens, waits at most drainTimeout for pending responses, then ends the
// session and all goroutines.
func (s *Shim) finish(cancel context.CancelCauseFunc) {
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	s.session.stopListening()
	s.stopListening()
	select {
	case <-done:
	case <-time.After(drainTimeout):
	}
	s.closeSession()
	cancel(nil)
	<-done
}

// firstWithoutBatches is the first revision in which clients must not send batches.
const firstWithoutBatches = "2025-06-18"

// handleMessage handles one message, or each message of a batch, which is answered one by one. Requests run concurrently. Messages without a response keep
// their order, and so does the legacy handshake.
func (s *Shim) handleMessage(ctx context.Context, cancel context.CancelCauseFunc, raw []byte) {
	if version := s.session.negotiated(); raw[0] == '[' && version != "" && version < firstWithoutBatches {
		if elements, ok := wire.BatchMessages(raw); ok {
			for _, element := range elements {
				s.handleMessage(ctx, cancel, element)
			}
			return
		}
	}
	m, errorResponse := parseMessage(raw)
	if errorResponse != nil {
		s.writeMessage(errorResponse)
		return
	}
	switch {
	case m.env.Kind == wire.Request && len(raw) > wire.MaxRequest:
		s.respondError(m, wire.CodeInvalidRequest, requestTooLarge)
	case len(raw) > wire.MaxRequest:
		s.o.Log.Warn("Cannot forward a message: it is too large", "method", m.env.Method, "limit", core.FormatLimit(wire.MaxRequest))
	case m.env.Kind == wire.Request && m.env.Method == "initialize" && !m.modern:
		s.forwardInitialize(ctx, m)
	case m.env.Kind == wire.Request:
		s.startRequest(ctx, m)
	case m.env.Kind == wire.Notification && m.env.Method == "notifications/cancelled" && s.cancelRequest(m):
	default:
		s.forward(ctx, m)
	}
	if s.clientGone() {
		cancel(io.ErrClosedPipe)
	}
}

// message is a JSON-RPC message of the client with the parts that its headers are made of.
type message struct {
	raw    []byte
	env    wire.Envelope
	params []byte
	spans  wire.Params
	modern bool
}

// parseMessage scans a message. problem is an error response for the client if the message cannot
// be forwarded.
func parseMessage(raw []byte) (m message, errorResponse []byte) {
	env, err := wire.Scan(raw)
	if err != nil {
		code, id := wire.CodeParse, []byte(nil)
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Code != code {
			code, id = e.Code, wire.RequestID(raw, nil)
		}
		return m, wire.AppendError(nil, id, code, err.Error(), nil)
	}
	m = message{raw: raw, env: env, params: wire.Bytes(raw, env.Params)}
	if env.Kind != wire.Request && env.Kind != wire.Notification && env.Kind != wire.Response {
		return m, wire.AppendError(nil, nil, wire.CodeInvalidRequest, "one JSON-RPC message per line is expected", nil)
	}
	if m.spans, err = wire.ScanParams(m.params); err != nil {
		return m, wire.AppendError(nil, wire.Bytes(raw, env.ID), wire.CodeInvalidParams, err.Error(), nil)
	}
	m.modern = !m.spans.ProtocolVersion.Empty()
	return m, nil
}

// writeMessage writes one message to the client, on one line. Its bytes are kept except for line
// breaks, which would end the message. JSON has them only between tokens, where they mean nothing.
func (s *Shim) writeMessage(msg []byte) {
	line := append(appendWithoutLineBreaks(make([]byte, 0, len(msg)+1), msg), '\n')
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.o.Out == nil {
		return
	}
	if _, err := s.o.Out.Write(line); err != nil {
		s.o.Out = nil // the client has disconnected
	}
}

// appendWithoutLineBreaks appends msg without line feeds and carriage returns.
func appendWithoutLineBreaks(dst, msg []byte) []byte {
	if bytes.IndexByte(msg, '\n') < 0 && bytes.IndexByte(msg, '\r') < 0 {
		return append(dst, msg...)
	}
	for _, c := range msg {
		if c != '\n' && c != '\r' {
			dst = append(dst, c)
		}
	}
	return dst
}

func (s *Shim) clientGone() bool {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	return s.o.Out == nil
}

func (s *Shim) respondError(m message, code int, text string) {
	s.writeMessage(wire.AppendError(nil, wire.Bytes(m.raw, m.env.ID), code, text, nil))
}

// requestTooLarge is the text of the error of a request that the bridge would not accept.
var requestTooLarge = "the request is larger than " + core.FormatLimit(wire.MaxRequest)

// respondOversized responds to a line that exceeds the maximum message size. id is nil if it is
// unknown.
func (s *Shim) respondOversized(id []byte) {
	text := requestTooLarge
	if id == nil {
		text = "the message is larger than " + core.FormatLimit(wire.DefaultMaxMessage)
	}
	s.writeMessage(wire.AppendError(nil, id, wire.CodeInvalidRequest, text, nil))
}

func errorText(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		if e.Hint != "" {
			return e.Message + ". " + e.Hint
		}
		return e.Message
	}
	return err.Error()
}
