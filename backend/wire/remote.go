package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// RemoteOptions configures a connection by streamable HTTP. Server and URL are required. Callbacks
// must not block and must not retain params.
type RemoteOptions struct {
	Server string
	// Account of the server, for messages; may be "".
	Account string
	URL     string
	Header  http.Header // sent with every request, such as Authorization
	// HTTP makes the requests; nil uses a default client. Redirects are limited to the origin of
	// URL, because they would carry headers with secrets.
	HTTP       *http.Client
	MaxMessage int // bytes of one response or event; 0 is DefaultMaxMessage

	OnNotification func(method string, params json.RawMessage)
	OnRequest      func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error)
	OnJunk         func(line []byte, reason string)
	// OnSessionReplaced is called after a lost session was replaced. The settings of the old
	// session, such as subscriptions, are lost. OnSessionReplaced must not block.
	OnSessionReplaced func()
	// OnMessage is called for every message that is sent or received; the messages of a stream are
	// passed one at a time. http is the request line or the status, and the headers, without values
	// that may be secret. The status and headers of a response are passed alone, before its
	// messages. text is valid until OnMessage returns. OnMessage must not block. May be nil.
	OnMessage func(sent bool, http string, text []byte)
	Log       *slog.Logger
}

// Remote runs calls to one server by streamable HTTP: each is a POST, answered by
// JSON or by a stream of events that ends with the reply. All methods may be called
// from any goroutine. Run keeps the stream open on which a legacy server
// announces changes.
type Remote struct {
	serverMessages
	o            RemoteOptions
	http         *http.Client
	nextID       atomic.Int64
	done         chan struct{}
	ctx          context.Context // ends with done; used by requests that no caller waits for
	cancel       context.CancelCauseFunc
	ready        chan struct{} // closed when a legacy session is initialized
	readyOnce    sync.Once     // closes ready
	renewing     chan struct{} // holds one token while a lost session is replaced, within renewTimeout
	renewTimeout time.Duration
	// listening is closed when a legacy server has answered the GET for its notifications.
	listening     chan struct{}
	listeningOnce sync.Once
	streamOpen    atomic.Bool // the stream of that GET is open

	strayGrace       time.Duration
	hasStrayProgress atomic.Bool // that stream has carried progress

	// Guarded by mu.
	era              core.Era
	version          string
	session          string
	initializeParams []byte // params of the initialize that opened the session
	err              error
}

// NewRemote checks the options and connects to nothing yet.
func NewRemote(o RemoteOptions) (*Remote, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, core.Errorf(core.CodeValidation, "server %q has no http or https url", o.Server)
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Remote{
		o: o, http: sameOriginOnly(o.HTTP, u), done: make(chan struct{}), ready: make(chan struct{}), listening: make(chan struct{}),
		renewing: make(chan struct{}, 1), renewTimeout: renewTimeout, strayGrace: strayGrace, era: core.Legacy,
	}
	r.serverMessages = serverMessages{
		server: o.Server, log: o.Log, onNotification: o.OnNotification, onRequest: o.OnRequest, onJunk: o.OnJunk,
		respond: r.postResponse, respondSoon: r.postResponseSoon,
	}
	r.serverMessages.init()
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	return r, nil
}

// maxHeaderBytes limits the headers of one response.
const maxHeaderBytes = 256 << 10

// sameOriginOnly returns a copy of a client that follows redirects within origin only.
func sameOriginOnly(c *http.Client, origin *url.URL) *http.Client {
	if c == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxResponseHeaderBytes = maxHeaderBytes
		c = &http.Client{Transport: transport}
	}
	own := *c
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Scheme != origin.Scheme || req.URL.Host != origin.Host {
			return &redirectError{req.URL.Scheme + "://" + req.URL.Host}
		}
		if len(via) > 5 {
			return errTooManyRedirects
		}
		return nil
	}
	return &own
}

// SetEra sets the era and revision that requests announce. version is "" until a
// legacy server has answered initialize.
func (r *Remote) SetEra(era core.Era, version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.era, r.version = era, version
	if era == core.Modern {
		r.session = ""
	}
}

// Done returns a channel that is closed when the connection is no longer usable: it was closed, or
// the server lost the session and a new one could not be opened.
func (r *Remote) Done() <-chan struct{} { return r.done }

// Err returns the reason why Done is closed, or nil.
func (r *Remote) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *Remote) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	r.err = err
	close(r.done)
	r.cancel(&core.Error{
		Code: core.CodeUnavailable, Message: lostConnection(r.o.Server, r.o.Account),
		Hint: SeeLog, Cause: err, Retriable: true,
	})
}

// CloseIdle closes idle HTTP connections.
func (r *Remote) CloseIdle() { r.http.CloseIdleConnections() }

// closeTimeout is the time limit of the DELETE that ends a session.
const closeTimeout = 3 * time.Second

// Close ends the connection and the session at the server. Calls in flight fail.
func (r *Remote) Close(ctx context.Context) error {
	r.mu.Lock()
	session, open := r.session, r.err == nil
	r.mu.Unlock()
	if open && session != "" {
		ctx, cancel := context.WithTimeout(ctx, closeTimeout)
		defer cancel()
		if req, err := r.newRequest(ctx, http.MethodDelete, nil, false); err == nil {
			if resp, err := r.http.Do(req); err == nil {
				resp.Body.Close()
			}
		}
	}
	r.fail(errors.New("the connection was closed"))
	r.requests.cancelAll()
	r.requests.wg.Wait()
	r.http.CloseIdleConnections()
	return nil
}

// Call is Mux.Call over HTTP.
func (r *Remote) Call(ctx context.Context, method string, params []byte, token core.Span, sink core.ServerMessageHandler) (core.Reply, error) {
	return r.CallWith(ctx, nil, method, params, token, sink)
}

// CallWith is Call with additional headers, whose names must be canonical.
func (r *Remote) CallWith(ctx context.Context, header http.Header, method string, params []byte, token core.Span, sink core.ServerMessageHandler) (core.Reply, error) {
	if err := r.Err(); err != nil {
		return core.Reply{}, context.Cause(r.ctx)
	}
	both, stop := context.WithCancelCause(ctx)
	defer stop(errAnswered)
	defer context.AfterFunc(r.ctx, func() { stop(context.Cause(r.ctx)) })()
	pc := newPendingCall(r.nextID.Add(1), method, params, sink)
	pc.ctx, pc.replyEnd, pc.replied = both, stop, make(chan core.Reply, 1)
	edit := pc.replaceToken(params, token)
	r.mu.Lock()
	r.pending[pc.id] = pc
	legacy := r.era == core.Legacy
	r.mu.Unlock()
	defer pc.end()
	defer func() {
		r.mu.Lock()
		delete(r.pending, pc.id)
		r.mu.Unlock()
	}()

	reply, err := r.exchange(both, pc, method, params, appendCall(nil, pc.id, method, params, edit), header)
	select {
	case reply = <-pc.replied:
		return reply, nil
	default:
	}
	if err == nil && (pc.hasStray() || pc.sentToken != "" && r.hasStrayProgress.Load()) {
		r.sleep(both, r.strayGrace)
	}
	if err != nil && ctx.Err() == nil && errors.Is(err, core.ErrNeedsLogin) {
		return core.Reply{}, err // the state that it announces closes the connection, but says less
	}
	if err != nil && both.Err() != nil {
		if ctx.Err() != nil && legacy && method != "initialize" {
			cause := context.Cause(ctx)
			r.requests.spawn(func() { r.sendCancelled(pc.id, cause) }) // for a modern server, closing the stream is the cancellation
		}
		if pc.unusable.during(pc.id) {
			return core.Reply{}, pc.unusable.explain(context.Cause(both))
		}
		return core.Reply{}, context.Cause(both)
	}
	return reply, err
}

// strayGrace is the time in which messages of a call may arrive after its reply, if the server sends
// them on the notification stream: two streams have no common order.
const strayGrace = 20 * time.Millisecond

func (r *Remote) sendCancelled(id int64, cause error) {
	ctx, cancel := context.WithTimeout(r.ctx, closeTimeout)
	defer cancel()
	_ = r.Notify(ctx, "notifications/cancelled", append(AppendString(fmt.Appendf(nil, `{"requestId":%d,"reason":`, id), cancelReason(cause)), '}'))
}

// exchange posts one request and reads until its reply. A request that the server refuses because
// it lost the session is sent again in a new session.
func (r *Remote) exchange(ctx context.Context, pc *pendingCall, method string, params, body []byte, header http.Header) (core.Reply, error) {
	resp, err := r.post(ctx, method, params, body, header)
	if err == nil && r.isSessionRefused(ctx, resp, pc.id) {
		resp.Body.Close()
		if err := r.replaceSession(ctx, sessionIDOf(resp)); err != nil {
			return core.Reply{}, err
		}
		if err := core.Readmit(ctx); err != nil {
			return core.Reply{}, err
		}
		resp, err = r.post(ctx, method, params, body, header)
		if err == nil && isNewSessionRefused(resp) {
			resp.Body.Close()
			return core.Reply{}, r.unusableSessionError()
		}
	}
	if err != nil {
		return core.Reply{}, r.unreachableError(err)
	}
	reply, err := r.read(ctx, resp, pc, method, params)
	lost := sessionIDOf(resp)
	if err != nil || len(reply.Error) == 0 || lost == "" || !mentionsSession(reply.Error) || !r.isSessionUnknown(ctx, lost) {
		return reply, err
	}
	if err := r.replaceSession(ctx, lost); err != nil {
		return core.Reply{}, err
	}
	if !isRepeatable(method) { // the server read it and may have executed it
		return core.Reply{}, r.lostSessionError()
	}
	if err := core.Readmit(ctx); err != nil {
		return core.Reply{}, err
	}
	if resp, err = r.post(ctx, method, params, body, header); err != nil {
		return core.Reply{}, r.unreachableError(err)
	}
	return r.read(ctx, resp, pc, method, params)
}

func (r *Remote) read(ctx context.Context, resp *http.Response, pc *pendingCall, method string, params []byte) (core.Reply, error) {
	defer resp.Body.Close()
	if method == "initialize" && succeeded(resp) {
		r.mu.Lock()
		r.session, r.initializeParams = resp.Header.Get("Mcp-Session-Id"), bytes.Clone(params)
		r.mu.Unlock()
	}
	if succeeded(resp) && mediaType(resp) == "text/event-stream" {
		return r.readStream(ctx, resp.Body, pc)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(r.o.MaxMessage)+1))
	if err != nil {
		return core.Reply{}, r.invalidMessageError("the response was truncated", err)
	}
	if len(data) > r.o.MaxMessage {
		return core.Reply{}, core.Errorf(core.CodeUnavailable, "the result from server %q is larger than the limit of %d bytes", r.o.Server, r.o.MaxMessage)
	}
	isMessage := mediaType(resp) == "application/json" || mediaType(resp) == "" && looksLikeMessage(data)
	if !isMessage {
		r.o.trace(false, "", data) // a body that is not a message may explain the reason
	}
	if succeeded(resp) && len(bytes.TrimSpace(data)) == 0 && r.streamOpen.Load() {
		<-ctx.Done() // the reply arrives on the notification stream, or never
		return core.Reply{}, context.Cause(ctx)
	}
	denied := resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden
	if isMessage && !denied {
		if reply, ok, err := r.parseReply(data, pc, succeeded(resp)); ok || err != nil {
			return reply, err
		}
	}
	return core.Reply{}, r.statusError(resp)
}

func succeeded(resp *http.Response) bool { return resp.StatusCode/100 == 2 }

// parseReply reads a JSON body, which may be a batch. An error may have no id if the server could
// not read ours. If the request failed, the caller reports the status when there is no error.
func (r *Remote) parseReply(data []byte, pc *pendingCall, ok bool) (reply core.Reply, found bool, err error) {
	malformed := r.eachMessage(data, func(data []byte, env Envelope, repaired bool) {
		switch id, _, isNumber := replyID(Bytes(data, env.ID)); {
		case env.Kind != Response:
			if ok {
				r.handleInbound(data, env, pc)
			}
		case found:
		default:
			if reply, found = r.replyFrom(data, env, repaired, pc.id, ok, true); !found && ok && (!isNumber || id != pc.id) {
				err = r.invalidMessageError(describeResponse(data, env.ID), nil)
			}
		}
	})
	switch {
	case found:
		return reply, true, nil
	case malformed != nil && ok:
		return core.Reply{}, false, r.invalidMessageError("a malformed response", malformed)
	}
	return core.Reply{}, false, err
}

// replyFrom extracts the reply to a request from a scanned message. ok is false if its HTTP request
// failed, anyError is true if an error with an unknown id is the reply as well.
func (r *Remote) replyFrom(data []byte, env Envelope, repaired bool, id int64, ok, anyError bool) (core.Reply, bool) {
	got, quoted, isNumber := replyID(Bytes(data, env.ID))
	result, object := replySpans(data, env)
	switch {
	case env.Kind != Response || isNumber && got != id:
		return core.Reply{}, false
	case !object.Empty() && (isNumber || anyError || hasNoID(data, env)), !result.Empty() && isNumber && ok:
		r.countQuotedID(quoted)
		return core.Reply{Result: Bytes(data, result), Error: Bytes(data, object), Repaired: repaired}, true
	}
	return core.Reply{}, false
}

func hasNoID(data []byte, env Envelope) bool {
	return env.ID.Empty() || string(Bytes(data, env.ID)) == "null"
}

// eachMessage scans text and calls visit for its message, or for each message of a batch.
func (r *Remote) eachMessage(text []byte, visit func(data []byte, env Envelope, repaired bool)) error {
	data, env, repaired, err := r.scanMessage(text)
	if err != nil || env.Kind != Batch {
		if err == nil {
			visit(data, env, repaired)
		}
		return err
	}
	messages, ok := BatchMessages(data)
	if !ok {
		return errNotBatch
	}
	for _, message := range messages {
		if env, err := Scan(message); err == nil {
			visit(message, env, repaired)
		} else {
			r.reportJunk(message, err.Error())
		}
	}
	return nil
}

func (r *Remote) scanMessage(data []byte) (clean []byte, env Envelope, repaired bool, err error) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	r.o.trace(false, "", data)
	env, err = Scan(data)
	if err == nil && env.Dirty() {
		if repaired = env.InvalidUnicode; repaired {
			r.stats.repaired.Add(1)
		}
		data = Compact(nil, data)
		env, err = Scan(data)
	}
	return data, env, repaired, err
}

var errTooManyRedirects = errors.New("too many redirects")

// redirectError refuses a redirect that would send our headers to another origin.
type redirectError struct{ origin string }

func (e *redirectError) Error() string { return "the server redirected to another origin: " + e.origin }

// StatusError is the cause of an error that results from an HTTP status.
type StatusError struct {
	Status int
	After  time.Duration // Retry-After; 0 if absent
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP status %d", e.Status) }

// unreachableError describes why a request got no response. It omits the URL, whose query may
// contain a secret.
func (r *Remote) unreachableError(err error) error { return unreachableError(r.o.Server, err) }

func unreachableError(server string, err error) error {
	if elsewhere, ok := errors.AsType[*redirectError](err); ok {
		return &core.Error{Code: core.CodeUnavailable, Cause: elsewhere,
			Message: fmt.Sprintf("server %q redirected to another origin, %.200s, which is not allowed", server, elsewhere.origin),
			Hint:    "If it has moved, change its url. Its headers are never sent to another origin.", Remedy: core.EditConfig("url")}
	}
	if errors.Is(err, errTooManyRedirects) {
		return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q returned too many redirects; check its url", server), Cause: err, Remedy: core.EditConfig("url")}
	}
	if own, ok := errors.AsType[*core.Error](err); ok {
		return own // an error of the HTTP client is more specific, for example that the user has to sign in
	}
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q cannot be reached: %.200s", server, err.Error()), Cause: err, Retriable: true, Unsent: isDialError(err), Remedy: core.Remedy{Kind: core.RemedyCheckNetwork}}
}

// isDialError reports whether err occurred before a connection was established.
func isDialError(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "dial"
}

func (r *Remote) invalidMessageError(what string, cause error) error {
	return &core.Error{Code: core.CodeUnavailable, Message: fmt.Sprintf("server %q sent %s", r.o.Server, what), Cause: cause, Retriable: true}
}

func (r *Remote) statusError(resp *http.Response) error { return statusError(r.o.Server, resp) }

func statusError(server string, resp *http.Response) error {
	e := core.Errorf(core.CodeUnavailable, "server %q responded with HTTP status %d", server, resp.StatusCode)
	after := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	e.Cause = &StatusError{Status: resp.StatusCode, After: after}
	switch {
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		e.Code, e.Hint = core.CodeUnauthorized, "Sign in to the server, or check the headers in its configuration."
		e.Remedy = core.EditConfig("headers")
	case resp.StatusCode == http.StatusTooManyRequests:
		e.Code, e.Retriable = core.CodeRateLimited, true
		if after > 0 {
			e.Hint = fmt.Sprintf("Try again in %s.", after)
		}
	case resp.StatusCode >= 500:
		e.Retriable = true
		if after > 0 {
			e.Hint = fmt.Sprintf("Try again in %s.", after)
		}
	case succeeded(resp):
		e.Message = fmt.Sprintf("server %q responded with %.60s, which is not an MCP message", server, cmp.Or(mediaType(resp), "something without a content type"))
		e.Hint, e.Remedy = "Check that the url points to an MCP endpoint.", core.EditConfig("url")
	}
	return e
}

// maxRetryAfter is the limit for Retry-After.
const maxRetryAfter = time.Hour

// retryAfter parses the header Retry-After, a number of seconds or a date. The result is rounded up
// to seconds; 0 if it is invalid.
func retryAfter(value string, now time.Time) time.Duration {
	var wait time.Duration
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	wait = min(max(wait, 0), maxRetryAfter)
	return (wait + time.Second - 1).Truncate(time.Second)
}

// Unreachable reports whether err says that a remote server cannot be reached, or cannot
// serve at the moment, which may be temporary: name resolution or routing failed, the connection
// was refused or broken, a time limit expired, or the status says so. after is the value of
// Retry-After, or 0. A cause may declare itself temporary by a method Unreachable() bool, such as
// when a token cannot be refreshed. An invalid certificate, a redirect to another origin and a
// response that is not HTTP are not temporary.
func Unreachable(err error) (after time.Duration, yes bool) {
	if status, ok := errors.AsType[*StatusError](err); ok {
		switch status.Status {
		case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return status.After, true
		}
		return 0, false
	}
	if _, ok := errors.AsType[*redirectError](err); ok {
		return 0, false
	}
	if e, ok := errors.AsType[interface {
		error
		Unreachable() bool
	}](err); ok {
		return 0, e.Unreachable()
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return 0, true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return 0, true
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return 0, true
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed, context.DeadlineExceeded} {
		if errors.Is(err, broken) {
			return 0, true
		}
	}
	return 0, false
}
