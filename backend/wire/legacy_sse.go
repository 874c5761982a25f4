package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// LegacySSE is a connection to a server of the older HTTP+SSE transport (MCP 2024-11-05): the
// server sends everything on one event stream, and each of our messages is a POST to the URL that
// the first event names. It offers the two ends of a pipe for a Mux.
type LegacySSE struct {
	o        RemoteOptions
	http     *http.Client
	endpoint string // where messages are posted

	ctx    context.Context
	cancel context.CancelFunc
	in     *io.PipeReader
	out    *io.PipeWriter // messages of the server, one per line
	done   chan struct{}
	posts  sync.WaitGroup
	slots  chan struct{} // holds one token for each POST in progress

	writeMu     sync.Mutex
	partialLine []byte // the incomplete line written so far
}

// POSTs are sent in order, but a server that answers a POST only after it has handled the request
// must not delay the next one.
const (
	postSlotTimeout = 250 * time.Millisecond
	maxPosts        = 32
	postTimeout     = 10 * time.Minute
)

// OpenLegacySSE connects and returns when the server has named the URL for POSTs. ctx applies to
// the connecting only.
func OpenLegacySSE(ctx context.Context, o RemoteOptions) (*LegacySSE, error) {
	r, err := NewRemote(o) // for its checks and its defaults
	if err != nil {
		return nil, err
	}
	e := &LegacySSE{o: r.o, http: r.http, done: make(chan struct{}), slots: make(chan struct{}, maxPosts)}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.in, e.out = io.Pipe()
	abort := context.AfterFunc(ctx, e.cancel)
	fail := func(err error) (*LegacySSE, error) {
		abort()
		e.cancel()
		e.http.CloseIdleConnections()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	req, err := e.newRequest(e.ctx, http.MethodGet, e.o.URL, nil)
	if err != nil {
		return fail(err)
	}
	resp, err := e.o.doTraced(e.http, req, nil)
	if err != nil {
		return fail(unreachableError(e.o.Server, err))
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		err := statusError(e.o.Server, resp)
		resp.Body.Close()
		if own, ok := errors.AsType[*core.Error](err); ok && own.Code == core.CodeUnavailable && own.Hint == "" {
			own.Hint, own.Remedy = useHTTPHint, core.EditConfig("type")
		}
		return fail(err)
	}
	events := NewEventReader(resp.Body, e.o.MaxMessage)
	if e.endpoint, err = e.readEndpoint(events, resp.Request.URL); err != nil {
		resp.Body.Close()
		return fail(err)
	}
	if !abort() {
		resp.Body.Close()
		return fail(context.Cause(ctx))
	}
	go e.read(events, resp.Body)
	return e, nil
}

const useHTTPHint = `If the server uses streamable HTTP, set its type to "http".`

// readEndpoint reads the first event, the URL for POSTs. It refuses another origin, which would
// receive our headers.
func (e *LegacySSE) readEndpoint(events *EventReader, at *url.URL) (string, error) {
	for range 100 {
		ev, err := events.Next()
		if err != nil {
			return "", &core.Error{Code: core.CodeUnavailable, Cause: err, Retriable: true,
				Message: fmt.Sprintf("server %q sent no endpoint URL", e.o.Server), Hint: useHTTPHint, Remedy: core.EditConfig("type")}
		}
		if ev.Name != "endpoint" {
			continue
		}
		to, err := at.Parse(string(bytes.TrimSpace(ev.Data)))
		if err != nil || to.Scheme != at.Scheme || to.Host != at.Host {
			return "", &core.Error{Code: core.CodeUnavailable, Cause: err,
				Message: fmt.Sprintf("server %q sent an endpoint URL with another origin, which is not allowed", e.o.Server)}
		}
		return to.String(), nil
	}
	return "", core.Errorf(core.CodeUnavailable, "server %q sent no endpoint URL; if it uses streamable HTTP, set its type to \"http\"", e.o.Server)
}

func (e *LegacySSE) newRequest(ctx context.Context, method, to string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range e.o.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Accept", "text/event-stream")
	if method == http.MethodPost {
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// read forwards messages of the server until the stream ends.
func (e *LegacySSE) read(events *EventReader, body io.Closer) {
	defer close(e.done)
	defer body.Close()
	for {
		ev, err := events.Next()
		if err != nil {
			if errors.Is(err, errEventTooLarge) {
				err = core.Errorf(core.CodeUnavailable, "server %q sent an event that is larger than the limit of %d bytes", e.o.Server, e.o.MaxMessage)
			}
			_ = e.out.CloseWithError(err)
			return
		}
		if ev.Name != "" && ev.Name != "message" || len(ev.Data) == 0 {
			continue
		}
		message := removeNewlines(ev.Data)
		e.o.trace(false, "", message)
		if _, err := e.out.Write(append(message, '\n')); err != nil {
			return // the reader is gone
		}
	}
}

// Stdin accepts messages, one per line.
func (e *LegacySSE) Stdin() io.WriteCloser { return legacySSEWriter{e} }

// Stdout delivers the messages of the server, one per line.
func (e *LegacySSE) Stdout() io.Reader { return e.in }

// Done is closed when the stream has ended.
func (e *LegacySSE) Done() <-chan struct{} { return e.done }

// Stop closes the connection and all of its requests.
func (e *LegacySSE) Stop(context.Context) error {
	e.cancel()
	_ = e.in.Close()
	<-e.done
	e.posts.Wait()
	e.http.CloseIdleConnections()
	return nil
}

type legacySSEWriter struct{ e *LegacySSE }

func (w legacySSEWriter) Close() error { return nil }

func (w legacySSEWriter) Write(p []byte) (int, error) {
	e := w.e
	e.writeMu.Lock()
	defer e.writeMu.Unlock()
	e.partialLine = append(e.partialLine, p...)
	for {
		end := bytes.IndexByte(e.partialLine, '\n')
		if end < 0 {
			return len(p), nil
		}
		message := bytes.Clone(bytes.TrimSpace(e.partialLine[:end]))
		e.partialLine = append(e.partialLine[:0], e.partialLine[end+1:]...)
		if len(message) == 0 {
			continue
		}
		if err := e.post(message); err != nil {
			return 0, err
		}
	}
}

// post sends one message and waits briefly for its response.
func (e *LegacySSE) post(message []byte) error {
	select {
	case e.slots <- struct{}{}:
	case <-e.done:
		return io.ErrClosedPipe
	case <-e.ctx.Done():
		return io.ErrClosedPipe
	}
	ctx, cancel := context.WithTimeout(e.ctx, postTimeout)
	req, err := e.newRequest(ctx, http.MethodPost, e.endpoint, message)
	if err != nil {
		cancel()
		<-e.slots
		return err
	}
	e.o.traceRequest(req, message) // here, because posts may overtake each other
	sent := make(chan struct{})
	e.posts.Go(func() {
		defer func() { <-e.slots }()
		defer close(sent)
		defer cancel()
		e.deliver(req, message)
	})
	timer := time.NewTimer(postSlotTimeout)
	defer timer.Stop()
	select {
	case <-sent:
	case <-timer.C:
	}
	return nil
}

// undeliveredData is the data of an error that did not come from the server: the request never
// reached it.
var undeliveredData = []byte(`{"undelivered":true}`)

// deliver posts message. If the server refuses a request, deliver answers it with an error; if
// the server no longer knows the session, deliver closes the connection.
func (e *LegacySSE) deliver(req *http.Request, message []byte) {
	resp, err := e.o.traceResponse(e.http.Do(req)) //nolint:bodyclose // closed below
	if err == nil {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
		resp.Body.Close()
		if resp.StatusCode < 300 {
			return
		}
		if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone || resp.StatusCode == http.StatusBadRequest && mentionsSession(text) {
			_ = e.out.CloseWithError(errSessionLost)
			e.cancel()
			return
		}
		err = statusError(e.o.Server, resp)
	} else {
		err = unreachableError(e.o.Server, err)
	}
	env, scanned := Scan(message)
	if scanned != nil || env.Kind != Request {
		e.o.Log.Debug("Server rejected a message", "server", e.o.Server, "error", err)
		return
	}
	text, _ := core.Describe(err)
	_, _ = e.out.Write(append(AppendError(nil, Bytes(message, env.ID), CodeInternal, text, undeliveredData), '\n'))
}
