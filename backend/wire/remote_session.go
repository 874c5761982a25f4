package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

var errSessionLost = errors.New("the server has lost the session")

func sessionIDOf(resp *http.Response) string { return resp.Request.Header.Get("Mcp-Session-Id") }

const (
	maxRefusalBody = 64 << 10        // bytes of an error response that are read to find the reason
	probeTimeout   = 5 * time.Second // of the ping that checks whether the session still exists
)

// isSessionRefused reports whether resp means that the session of the request is unknown: 404, 410,
// or 400 with an error that mentions the session. An ambiguous 400 is decided by a ping in the same
// session.
//
// Each of these comes from the HTTP layer, which looks up the session before it forwards the
// message: the request had no effect and may be sent again.
func (r *Remote) isSessionRefused(ctx context.Context, resp *http.Response, id int64) bool {
	if sessionIDOf(resp) == "" {
		return false
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return true
	case http.StatusBadRequest:
	default:
		return false
	}
	text := peekBody(resp)
	env, err := Scan(text)
	answered := false // the server read the request, and this is its response
	if err == nil && env.Kind == Response {
		got, _, ok := replyID(Bytes(text, env.ID))
		answered = ok && got == id
	}
	switch named := mentionsSession(text); {
	case named && !answered:
		return true
	case answered && !named:
		return false
	}
	return r.isSessionUnknown(ctx, sessionIDOf(resp))
}

// isSessionUnknown checks by a ping whether the server still knows session. A ping has no effect,
// so any refusal counts.
func (r *Remote) isSessionUnknown(ctx context.Context, session string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	pc := newPendingCall(r.nextID.Add(1), "", nil, nil)
	resp, err := r.post(ctx, "ping", nil, appendCall(nil, pc.id, "ping", nil, nil), nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if sessionIDOf(resp) != session { // replaced meanwhile
		return true
	}
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusGone:
		return true
	}
	var reply core.Reply
	if mediaType(resp) == "text/event-stream" {
		reply, err = r.readStream(ctx, resp.Body, pc)
	} else {
		reply, _, err = r.parseReply(peekBody(resp), pc, succeeded(resp))
	}
	return err == nil && mentionsSession(reply.Error)
}

// peekBody reads the beginning of a body without consuming it.
func peekBody(resp *http.Response) []byte {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusalBody))
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	return text
}

func mentionsSession(text []byte) bool {
	return bytes.Contains(bytes.ToLower(text[:min(len(text), maxRefusalBody)]), []byte("session"))
}

// isRepeatable reports whether a request may be sent twice: of all methods, only tools/call may
// have side effects.
func isRepeatable(method string) bool { return method != "tools/call" }

// replaceSession opens a new session in place of lost. Its error is the error of the request.
func (r *Remote) replaceSession(ctx context.Context, lost string) error {
	err := r.renew(ctx, lost)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // the deadline of this caller passed; the next one tries again
		return context.Cause(ctx)
	}
	r.fail(err)
	return context.Cause(r.ctx)
}

// renewTimeout is the time limit for replacing a session: the notification stream may trigger it
// without a deadline, and all calls wait for it.
const renewTimeout = 30 * time.Second

// renew opens a new session in place of lost, unless another goroutine has done so meanwhile.
func (r *Remote) renew(ctx context.Context, lost string) error {
	select {
	case r.renewing <- struct{}{}:
		defer func() { <-r.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	hello, version, now := r.initializeParams, r.version, r.session
	r.mu.Unlock()
	if now != lost {
		return nil
	}
	if hello == nil {
		return errSessionLost
	}
	r.o.Log.Info("Server has lost the session; opening a new one", "server", r.o.Server)
	ctx = core.WithReadmitter(ctx, nil) // the session is for all calls
	ctx, cancel := context.WithTimeoutCause(ctx, r.renewTimeout, fmt.Errorf("it did not respond within %s", r.renewTimeout))
	defer cancel()
	pc := newPendingCall(r.nextID.Add(1), "", nil, nil)
	reply, err := r.exchange(ctx, pc, "initialize", hello, appendCall(nil, pc.id, "initialize", hello, nil), nil)
	if err != nil {
		return fmt.Errorf("%w, and no new one could be opened: %w", errSessionLost, err)
	}
	var result struct {
		ProtocolVersion string `json:"protocolVersion"`
	}
	if json.Unmarshal(reply.Result, &result) != nil || result.ProtocolVersion != version {
		return fmt.Errorf("%w, and it now uses another protocol version", errSessionLost)
	}
	resp, err := r.post(ctx, "", nil, AppendNotification(nil, "notifications/initialized", nil), nil)
	if err != nil {
		return err
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 512)
	resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%w, and it rejected a new one: %w", errSessionLost, r.statusError(resp))
	}
	if r.o.OnSessionReplaced != nil {
		r.o.OnSessionReplaced()
	}
	return nil
}

// isNewSessionRefused reports whether a just opened session is refused. A 400 that does not mention
// the session is the response to the request.
func isNewSessionRefused(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return sessionIDOf(resp) != ""
	case http.StatusBadRequest:
		return sessionIDOf(resp) != "" && mentionsSession(peekBody(resp))
	}
	return false
}

// unusableSessionError is the error of a request that was refused in two sessions.
func (r *Remote) unusableSessionError() error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: true, Unsent: true, Cause: errSessionLost,
		Message: fmt.Sprintf("server %q rejected the session that it had just created", r.o.Server),
		Hint:    "Try again. If the error persists, several server instances probably share this url without sharing their sessions."}
}

// lostSessionError is the error of a call that may have been executed before its session was lost.
func (r *Remote) lostSessionError() error {
	return &core.Error{Code: core.CodeUnavailable, Retriable: true, Cause: errSessionLost,
		Message: fmt.Sprintf("server %q has lost the session; %s", r.o.Server, core.UnknownEffect),
		Hint:    "A new session is open. Check whether the call had an effect before you repeat it."}
}

// Delays before a stream is reopened.
const (
	streamBackoff    = time.Second
	maxStreamBackoff = time.Minute
	maxRetryDelay    = 30 * time.Second // upper limit for the retry field of a server
	minRetryDelay    = 50 * time.Millisecond
)

// maxResumes is the number of consecutive times that a stream is reopened without an event.
const maxResumes = 5

// maxEventID is the maximum length of an event id that is used for resuming.
const maxEventID = 1 << 10

// resumption is the state for resuming a stream.
type resumption struct {
	lastEventID  string        // id of its last event; "" if the server sends none
	delay        time.Duration // delay before reopening
	emptyStreams int           // consecutive streams without an event
}

func (p *resumption) record(ev Event) {
	switch {
	case len(ev.ID) > maxEventID:
		p.lastEventID = "" // it would be sent as a header
	case ev.ID != "" && !strings.ContainsAny(ev.ID, "\r\n\x00"):
		p.lastEventID = ev.ID
	}
	if ev.Retry > 0 {
		p.delay = min(max(ev.Retry, minRetryDelay), maxRetryDelay)
	}
	p.emptyStreams = 0
}

var errNoResumption = errors.New("the server does not support resuming streams")

// resume reopens a stream that ended early, after its last event.
func (r *Remote) resume(ctx context.Context, place *resumption) (io.ReadCloser, error) {
	r.mu.Lock()
	legacy := r.era == core.Legacy
	r.mu.Unlock()
	for {
		if place.lastEventID == "" || !legacy || place.emptyStreams >= maxResumes {
			return nil, errNoResumption
		}
		place.emptyStreams++
		if !r.sleep(ctx, place.delay) {
			return nil, context.Cause(ctx)
		}
		resp, err := r.openStream(ctx, place.lastEventID)
		switch {
		case err != nil:
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
		case succeeded(resp) && mediaType(resp) == "text/event-stream":
			return resp.Body, nil
		default:
			resp.Body.Close()
			if resp.StatusCode < 500 {
				return nil, r.statusError(resp)
			}
		}
	}
}

func (r *Remote) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-r.done:
	}
	return false
}

// openStream opens an event stream after the event with the id last.
func (r *Remote) openStream(ctx context.Context, last string) (*http.Response, error) {
	req, err := r.newRequest(ctx, http.MethodGet, nil, false)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-Id", last)
	}
	return r.o.doTraced(r.http, req, nil)
}

// Run keeps the GET stream for notifications of a legacy server open until the connection ends.
// Modern servers use subscriptions/listen instead, and a legacy server need not offer the stream.
func (r *Remote) Run() error {
	select {
	case <-r.ready:
	case <-r.done:
		return r.Err()
	}
	backoff := streamBackoff
	var place resumption
	for {
		began := time.Now()
		if !r.readNotifications(&place) {
			<-r.done
			return r.Err()
		}
		if time.Since(began) > maxStreamBackoff {
			backoff = streamBackoff
		}
		wait := backoff
		if place.delay > 0 && place.emptyStreams == 0 {
			wait, backoff = place.delay, streamBackoff // as the server requested, as long as events arrive
		}
		if !r.sleep(r.ctx, wait) {
			return r.Err()
		}
		backoff = min(2*backoff, maxStreamBackoff)
	}
}

// Listening returns a channel that is closed when the notification stream is open or known to be
// missing. Requests that a legacy server sends before that may be lost.
func (r *Remote) Listening() <-chan struct{} { return r.listening }

// readNotifications reads one GET stream to its end and reports whether to open another one.
func (r *Remote) readNotifications(place *resumption) (again bool) {
	place.emptyStreams++
	resp, err := r.openStream(r.ctx, place.lastEventID)
	r.listeningOnce.Do(func() { close(r.listening) })
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if session := sessionIDOf(resp); session != "" && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone || resp.StatusCode == http.StatusBadRequest) {
		// Servers without this stream send the same response.
		if !r.isSessionUnknown(r.ctx, session) {
			return false
		}
		*place = resumption{}
		return r.replaceSession(r.ctx, session) == nil
	}
	if !succeeded(resp) || mediaType(resp) != "text/event-stream" {
		r.o.Log.Debug("Server does not offer a notification stream", "server", r.o.Server, "status", strconv.Itoa(resp.StatusCode))
		return resp.StatusCode >= 500
	}
	r.streamOpen.Store(true)
	defer r.streamOpen.Store(false)
	events := NewEventReader(resp.Body, r.o.MaxMessage)
	for {
		ev, err := events.Next()
		if err != nil {
			return true
		}
		place.record(ev)
		if len(ev.Data) == 0 {
			continue
		}
		err = r.eachMessage(ev.Data, func(data []byte, env Envelope, repaired bool) {
			if env.Kind != Response {
				r.handleInbound(data, env, nil)
			} else if !r.completeStray(data, env, repaired) {
				r.stats.late.Add(1)
			}
		})
		if err != nil {
			r.reportJunk(ev.Data, err.Error())
		}
	}
}

// readStream reads the events of one call until its reply. It calls the sink directly, so that a
// slow sink slows only this stream. If a legacy server that sends event ids ends the stream early,
// it is resumed after the last event.
func (r *Remote) readStream(ctx context.Context, body io.Reader, pc *pendingCall) (core.Reply, error) {
	place := resumption{delay: streamBackoff}
	reply, done, err := r.readEvents(ctx, body, pc, &place)
	for !done {
		again, cause := r.resume(ctx, &place)
		if cause != nil {
			return core.Reply{}, r.noReplyError(pc, errors.Join(err, cause))
		}
		reply, done, err = r.readEvents(ctx, again, pc, &place)
		again.Close()
	}
	return reply, err
}

// readEvents reads one stream of a call. When it ends without the reply, done is false.
func (r *Remote) readEvents(ctx context.Context, body io.Reader, pc *pendingCall, place *resumption) (reply core.Reply, done bool, err error) {
	events := NewEventReader(body, r.o.MaxMessage)
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, errEventTooLarge):
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "the result from server %q is larger than the limit of %d bytes", r.o.Server, r.o.MaxMessage)
		case err != nil:
			return core.Reply{}, false, err
		}
		place.record(ev)
		if len(ev.Data) == 0 {
			continue
		}
		err = r.eachMessage(ev.Data, func(data []byte, env Envelope, repaired bool) {
			if env.Kind != Response {
				r.handleInbound(data, env, pc)
				return
			}
			id, _, ok := replyID(Bytes(data, env.ID))
			found, isReply := r.replyFrom(data, env, repaired, pc.id, true, false)
			switch {
			case done:
			case isReply:
				reply, done = found, true
			case ok && id == pc.id:
				reply, done = core.Reply{}, true
			case !r.completeStray(data, env, repaired):
				r.recordUnmatched(data, env.ID, pc)
			}
		})
		if err != nil {
			r.reportJunk(ev.Data, err.Error())
		}
		if done && len(reply.Result) == 0 && len(reply.Error) == 0 {
			return core.Reply{}, true, core.Errorf(core.CodeUnavailable, "server %q responded with neither result nor error", r.o.Server)
		}
		if done {
			return reply, true, nil
		}
	}
}

// completeStray completes the call whose reply arrived on another stream than that of the call.
func (r *Remote) completeStray(data []byte, env Envelope, repaired bool) bool {
	id, _, _ := replyID(Bytes(data, env.ID))
	r.mu.Lock()
	pc := r.pending[id]
	r.mu.Unlock()
	if pc == nil {
		return false
	}
	reply, ok := r.replyFrom(data, env, repaired, id, true, false)
	if ok {
		select {
		case pc.replied <- reply:
			pc.replyEnd(errAnswered)
		default: // it has one
		}
	}
	return ok
}

// handleInbound handles a notification or request of the server. pc is the call on whose stream it
// arrived, or nil; it need not be the call that the message belongs to.
func (r *Remote) handleInbound(data []byte, env Envelope, pc *pendingCall) {
	params := Bytes(data, env.Params)
	switch env.Kind {
	case Request:
		r.handleRequest(data, env, pc)
		return
	case Notification:
	default:
		r.reportJunk(data, "not a JSON-RPC message")
		return
	}
	switch env.Method {
	case "notifications/progress":
		if pc == nil {
			r.hasStrayProgress.Store(true)
		}
		if to, params := r.callOfProgress(data, env); to != nil {
			r.deliver(to, pc, env.Method, params)
		}
		return
	case "notifications/cancelled":
		r.cancelRequest(params)
		return
	case "notifications/message":
		to := pc
		if pc == nil || !pc.mayReceive(params) {
			to = r.callOfLogMessage(params)
		}
		if to != nil && to.sink != nil {
			r.deliver(to, pc, env.Method, params)
		}
	default:
		if pc != nil && pc.sink != nil && IsExtensionNotification(env.Method) {
			r.deliver(pc, pc, env.Method, params)
			return
		}
	}
	r.notify(env.Method, params)
}

// deliver passes a notification to the sink of the call to. stream is the call on whose stream it
// arrived, or nil.
func (r *Remote) deliver(to, stream *pendingCall, method string, params []byte) {
	if to == stream {
		to.notify(method, params)
	} else if !to.enqueueStray(inboundMessage{kind: inboundNotification, method: method, params: bytes.Clone(params)}, r.done) {
		r.stats.dropped.Add(1)
	}
}

// handleRequest answers a request of the server by a separate POST.
func (r *Remote) handleRequest(data []byte, env Envelope, pc *pendingCall) {
	in := inboundMessage{method: env.Method, id: bytes.Clone(Bytes(data, env.ID)), params: bytes.Clone(Bytes(data, env.Params))}
	p, err := ScanParams(in.params)
	if err != nil {
		r.refuse(in.id, CodeInvalidParams, "invalid params: "+err.Error())
		return
	}
	if task, related := p.RelatedTaskID(in.params); pc == nil || related && pc.task != task {
		pc = r.callOfRequest(in.params, &p)
	}
	to, parent := r.onRequest, r.ctx
	if pc != nil && pc.sink != nil {
		to, parent = pc.sink.Ask, pc.ctx
	}
	if r.admitRequest(in, to != nil) {
		r.answerRequest(parent, to, in)
	}
}

// postResponseSoon posts a response from another goroutine. A server that sends requests faster
// than it accepts responses loses some.
func (r *Remote) postResponseSoon(body []byte) {
	if !r.requests.spawn(func() { r.postResponse(body) }) {
		r.stats.dropped.Add(1)
	}
}

// postResponse posts a response; errors are ignored, because the server retries or gives up.
func (r *Remote) postResponse(body []byte) {
	ctx, cancel := context.WithTimeout(r.ctx, 10*closeTimeout)
	defer cancel()
	if err := r.send(ctx, "", body); err != nil {
		r.log.Debug("Cannot respond to a request from the server", "server", r.server, "error", err)
	}
}
