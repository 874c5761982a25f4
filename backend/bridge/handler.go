package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// ServeHTTP implements http.Handler.
func (b *Bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ep, ok := parseEndpoint(r.URL.Path)
	if ok && (!b.views.exists(&ep) || !b.settled.Load()) && b.Settle != nil {
		ctx, cancel := context.WithTimeout(r.Context(), settleLimit)
		if err := b.Settle(ctx); err != nil {
			b.Log.Debug("The configuration is not in use yet", "error", err)
		}
		b.settled.Store(b.settled.Load() || ctx.Err() == nil)
		cancel()
		b.views.exists(&ep)
	}
	if !ok || !b.views.has(ep) {
		b.refuseEndpoint(w, r, b.views.notFoundText(ep))
		return
	}
	if b.lifetime.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, codeRefused, "Drawbridge is stopping")
		return
	}
	origin := readOrigin(r.Header)
	if b.Elsewhere(origin.token) {
		origin.workspace = ""
	}
	if b.Credential != nil {
		origin.credential, _ = b.Credential(origin.token)
	}
	ep, refusal := b.views.authorize(ep, origin)
	if refusal != "" {
		b.refuseEndpoint(w, r, refusal)
		return
	}
	switch r.Method {
	case http.MethodPost:
		b.servePost(w, r, ep, origin)
	case http.MethodGet:
		b.serveGet(w, r, ep, origin)
	case http.MethodDelete:
		b.serveDelete(w, r, ep, origin)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "method not allowed")
	}
}

// settleLimit is how long a request waits for a configuration that is being loaded: one for an endpoint that
// does not exist, and any before the first configuration.
const settleLimit = 15 * time.Second

func (b *Bridge) servePost(w http.ResponseWriter, r *http.Request, ep endpoint, origin requestOrigin) {
	if !isJSON(r.Header) {
		refuse(w, http.StatusUnsupportedMediaType, codeInvalidRequest, "the content type must be application/json")
		return
	}
	body, release, err := b.readBody(w, r)
	defer release()
	if errors.Is(err, errBodyBudget) {
		w.Header().Set("Retry-After", "1")
		w.Header().Set("Connection", "close") // do not wait for the rest of the body
		refuse(w, http.StatusServiceUnavailable, codeRefused, err.Error())
		return
	}
	if e, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusRequestEntityTooLarge, oversizedID(body, r.Body), codeInvalidRequest, "the request is larger than "+core.FormatLimit(e.Limit))
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, codeParse, "cannot read the request")
		return
	}
	m, err := parseMessage(body)
	if err != nil {
		refuseMessage(w, body, err)
		return
	}
	x := &exchange{request: r, endpoint: ep, origin: origin, message: m, era: eraOf(r.Header, &m.params)}
	refusal := b.admit(x)
	if x.session != nil {
		defer func() { x.session.release(b.Now()) }()
	}
	if refusal != nil {
		refusal.write(w, x)
		return
	}
	switch m.env.Kind {
	case wire.Request:
		x.response = b.newResponseWriter(w)
		defer x.response.end()
		b.serveRequest(x)
		return
	case wire.Batch:
		b.serveBatch(w, x)
		return
	case wire.Notification:
		if !b.receiveNotification(x) {
			writeError(w, http.StatusBadRequest, nil, codeInvalidRequest, "only notifications have no id, and their methods begin with notifications/")
			return
		}
	case wire.Response:
		if x.session != nil {
			x.session.deliverResponse(m)
		}
	}
	w.WriteHeader(http.StatusAccepted)
}

// serveGet opens the stream on which a legacy client receives the messages that belong to no call.
func (b *Bridge) serveGet(w http.ResponseWriter, r *http.Request, ep endpoint, origin requestOrigin) {
	x := &exchange{request: r, endpoint: ep, origin: origin, message: new(message), era: eraOf(r.Header, &wire.Params{})}
	if x.era == core.Modern {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "method not allowed")
		return
	}
	if refusal := b.admitStream(x); refusal != nil {
		refusal.write(w, x)
		return
	}
	s := x.session
	defer b.handleShimDisconnect(s)
	defer func() { s.release(b.Now()) }()
	response := b.newResponseWriter(w)
	defer response.end()
	if !b.listeners.attach(s.listener, response) {
		refuse(w, http.StatusConflict, codeInvalidRequest, "the session has a stream already")
		return
	}
	defer s.listener.detachStream(response)
	response.sendKeepAlive()
	b.inFlight.add(response, func(error) {}) // the session ends it
	defer b.inFlight.remove(response)
	select {
	case <-r.Context().Done():
	case <-s.ctx.Done():
	}
}

func (b *Bridge) serveDelete(w http.ResponseWriter, r *http.Request, ep endpoint, origin requestOrigin) {
	if eraOf(r.Header, &wire.Params{}) == core.Modern {
		if origin.shim != "" { // a shim that disconnects; the modern era has no session to end
			b.notifyShimEnded(origin.token, origin.shim)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "method not allowed")
		return
	}
	id := headerValue(r.Header, sessionHeader)
	if id == "" {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "the Mcp-Session-Id header is missing")
		return
	}
	s := b.sessions.removeByID(id, origin.token, ep.path)
	if s == nil {
		refuse(w, http.StatusNotFound, codeNotFound, "the session is unknown or has ended")
		return
	}
	b.endSession(s, "the client ended it")
	w.WriteHeader(http.StatusNoContent)
}

// exchange is an HTTP request with its parsed message and everything that is known about it.
type exchange struct {
	*message
	request  *http.Request
	endpoint endpoint
	origin   requestOrigin
	era      core.Era
	session  *session // nil for a modern client, and for a legacy client before initialize
	response *responseWriter
	served   *method // how the request is served; nil if its method is unknown
	batched  bool    // one of several messages in an HTTP request
}

// reply sends the response to the request.
func (x *exchange) reply(status int, parts ...[]byte) {
	if x.batched {
		_ = x.response.sendEvent(parts...)
		return
	}
	x.response.reply(status, parts...)
}

// refuse sends an error as the response to the request.
func (x *exchange) refuse(err *rpcError) {
	x.reply(err.status(x.era), wire.AppendErrorObject(nil, x.id(), err.object))
}

// serveBatch serves the elements of a JSON-RPC batch one after the other. Only legacy clients
// before revision 2025-06-18 may send batches. The responses are the events of one stream.
func (b *Bridge) serveBatch(w http.ResponseWriter, x *exchange) {
	elements, err := parseBatch(x.body)
	if err != nil {
		refuseMessage(w, nil, err)
		return
	}
	x.batched, x.response = true, b.newResponseWriter(w)
	defer x.response.end()
	requests := 0
	for _, m := range elements {
		element := *x
		element.message = m
		switch {
		case m.env.Kind == wire.Response:
			x.session.deliverResponse(m)
		case m.env.Kind == wire.Notification:
			b.receiveNotification(&element)
		case m.env.Method == "initialize":
			requests++
			element.refuse(newError(codeInvalidRequest, "this request must not be part of a batch"))
		default:
			requests++
			if refusal := b.checkParams(&element); refusal != nil {
				element.refuse(refusal)
			} else {
				b.serveRequest(&element)
			}
		}
	}
	if requests == 0 {
		w.WriteHeader(http.StatusAccepted)
	}
}

// parseBatch validates every element like a single message.
func parseBatch(body []byte) ([]*message, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, &wire.Error{Code: codeParse, Reason: "not an array"}
	}
	if len(all) == 0 {
		return nil, &wire.Error{Code: codeInvalidRequest, Reason: "an empty batch"}
	}
	elements := make([]*message, len(all))
	for i, raw := range all {
		m, err := parseMessage(raw)
		if err != nil {
			return nil, err
		}
		if !m.env.HasVersion || m.env.Kind == wire.Other || m.env.Kind == wire.Batch {
			return nil, &wire.Error{Code: codeInvalidRequest, Reason: "an element that is not a JSON-RPC message"}
		}
		elements[i] = m
	}
	return elements, nil
}

// maxDrained is the number of bytes of a request that are skipped to find the id at its end.
const maxDrained = 32 << 20

// oversizedID returns the id of a request that is too large, of which head has been read, or nil.
func oversizedID(head []byte, rest io.Reader) []byte {
	if len(head) == 0 {
		head, _ = io.ReadAll(io.LimitReader(rest, smallBodySize))
	}
	id, tail, part := wire.RequestID(head, nil), []byte(nil), make([]byte, 32<<10)
	for n := 0; id == nil && n < maxDrained; {
		read, err := rest.Read(part)
		tail = wire.AppendTail(tail, part[:read])
		if n += read; errors.Is(err, io.EOF) {
			return wire.RequestID(head, tail)
		} else if err != nil {
			return nil
		}
	}
	return id
}

// readBody reads at most MaxBody bytes. The caller must call release when the request ends.
func (b *Bridge) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	release = func() {}
	switch {
	case r.ContentLength > b.MaxBody:
		return nil, release, &http.MaxBytesError{Limit: b.MaxBody}
	case r.ContentLength >= 0:
		if release, err = b.bodyBudget.acquire(w, r, r.ContentLength); err != nil {
			return nil, release, err
		}
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body)
		return body, release, err
	}
	from := http.MaxBytesReader(w, r.Body, b.MaxBody)
	body, err = io.ReadAll(io.LimitReader(from, smallBodySize))
	if err != nil || len(body) < smallBodySize {
		return body, release, err
	}
	if release, err = b.bodyBudget.acquire(w, r, b.MaxBody); err != nil {
		return nil, release, err
	}
	rest, err := io.ReadAll(from)
	return append(body, rest...), release, err
}

// inFlightRequests holds the requests that have not been answered.
type inFlightRequests struct {
	mu         sync.Mutex
	byResponse map[*responseWriter]inFlightRequest
	stopped    bool
}

type inFlightRequest struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (r *inFlightRequests) add(response *responseWriter, cancel context.CancelCauseFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byResponse == nil {
		r.byResponse = map[*responseWriter]inFlightRequest{}
	}
	timer := time.AfterFunc(response.keepAliveInterval, func() { r.keepAlive(response) })
	r.byResponse[response] = inFlightRequest{cancel, timer}
	if r.stopped {
		cancel(errStopped)
	}
}

func (r *inFlightRequests) remove(response *responseWriter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.byResponse[response]; ok {
		one.timer.Stop()
	}
	delete(r.byResponse, response)
}

func (r *inFlightRequests) keepAlive(response *responseWriter) {
	left := response.keepAliveInterval - response.sinceLastWrite()
	if left <= 0 {
		response.sendKeepAlive()
		left = response.keepAliveInterval
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if one, ok := r.byResponse[response]; ok && !r.stopped {
		one.timer.Reset(left)
	}
}

// cancelAll cancels all requests, and those that are added later.
func (r *inFlightRequests) cancelAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = true
	for _, one := range r.byResponse {
		one.cancel(errStopped)
	}
}
