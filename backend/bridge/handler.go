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
	if ok && !b.endpointExists(ep) {
		ep = b.resolveServerName(ep)
	}
	if !ok || !b.endpointExists(ep) {
		b.refuseEndpoint(w, r, notFoundText(ep))
		return
	}
	if b.lifetime.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, codeRefused, "Drawbridge is stopping")
		return
	}
	origin := readOrigin(r.Header)
	if b.Credential != nil {
		origin.credential, _ = b.Credential(origin.token)
	}
	ep, refusal := b.authorizeEndpoint(ep, origin)
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
		refuseMessage(w, m, err)
		return
	}
	if m.env.Kind == wire.Other {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "the message is neither a request, a notification nor a response")
		return
	}
	if !m.env.HasVersion && m.env.Kind != wire.Batch {
		writeError(w, http.StatusBadRequest, m.id(), codeInvalidRequest, `"jsonrpc":"2.0" is missing from the message`)
		return
	}
	if !normalizeName(r.Header) {
		writeError(w, http.StatusBadRequest, m.id(), codeHeaderMismatch, "the Mcp-Name header is not valid base64")
		return
	}
	if b.stopping.Load() && (m.env.Kind == wire.Request || m.env.Kind == wire.Batch) {
		writeError(w, http.StatusServiceUnavailable, m.id(), codeRefused, "Drawbridge is stopping: try again when it runs")
		return
	}
	x := &exchange{request: r, endpoint: ep, origin: origin, message: m, era: eraOf(r.Header, &m.params)}
	if refuseParamsArray(w, x) || refuseUnknownVersion(w, x) {
		return
	}
	if x.era == core.Modern {
		b.serveModernPost(w, x)
	} else {
		b.serveLegacyPost(w, x)
	}
}

func (b *Bridge) serveModernPost(w http.ResponseWriter, x *exchange) {
	delete(x.request.Header, sessionHeader) // has no meaning in this era
	if x.env.Kind == wire.Notification && (b.forwardNotification(x) || x.isUnknownNotification()) {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if x.env.Kind == wire.Request && !b.fastPathDisabled && x.canServeFast() && b.isValidModern(x) {
		b.serveFast(w, x)
		return
	}
	if x.env.Kind == wire.Request && isTaskMethod(x.env.Method) && !x.namesTask() {
		writeError(w, http.StatusBadRequest, x.id(), codeHeaderMismatch, "the headers Mcp-Method and Mcp-Name must contain the method and the id of the task")
		return
	}
	if x.env.Kind == wire.Request && x.env.Method == "subscriptions/listen" {
		if !b.streams.acquire(x.origin.token) {
			writeError(w, http.StatusTooManyRequests, x.id(), codeRefused, "this client has too many open streams")
			return
		}
		defer b.streams.release(x.origin.token)
	}
	b.serveSDK(w, x)
}

// serveFast serves a request of a method that dispatch handles, without go-sdk.
func (b *Bridge) serveFast(w http.ResponseWriter, x *exchange) {
	x.response = b.newResponseWriter(w, false)
	defer x.response.end()
	b.serveRequest(x)
}

func (b *Bridge) serveLegacyPost(w http.ResponseWriter, x *exchange) {
	if id := headerValue(x.request.Header, sessionHeader); id != "" {
		s := b.sessions.acquire(id, x.origin.token, x.endpoint.path, b.Now())
		if s == nil {
			writeError(w, http.StatusNotFound, x.id(), codeNotFound, "the session is unknown or has ended")
			return
		}
		defer func() { s.release(b.Now()) }()
		x.session = s
		switch x.env.Kind {
		case wire.Response:
			if s.deliverResponse(b, x.message) {
				w.WriteHeader(http.StatusAccepted)
				return
			}
		case wire.Notification:
			if b.receiveNotification(x, x.message) || b.forwardNotification(x) || x.isUnknownNotification() {
				w.WriteHeader(http.StatusAccepted)
				return
			}
		case wire.Request:
			if !x.isForDispatch() && !sdkLegacyMethods[x.env.Method] {
				writeError(w, http.StatusOK, x.id(), codeMethodNotFound, "method not found")
				return
			}
			if v := headerValue(x.request.Header, versionHeader); (v == "" || legacyVersions[v]) && !b.fastPathDisabled && x.canServeFast() {
				b.serveFast(w, x)
				return
			}
		case wire.Batch:
			b.serveBatch(w, x)
			return
		}
	} else if x.env.Kind != wire.Request || x.env.Method != "initialize" && x.env.Method != "ping" {
		writeError(w, http.StatusBadRequest, x.id(), codeInvalidRequest, "there is no session yet: send initialize first, then its Mcp-Session-Id with every request")
		return
	} else if x.env.Method == "initialize" && b.sessions.full(x.origin.token) {
		// go-sdk would respond with the id of a session that is closed immediately.
		writeError(w, http.StatusTooManyRequests, x.id(), codeRefused, tooManySessions)
		return
	}
	b.serveSDK(w, x)
}

// serveGet opens the stream on which a legacy client receives the messages that belong to no call.
func (b *Bridge) serveGet(w http.ResponseWriter, r *http.Request, ep endpoint, origin requestOrigin) {
	x := &exchange{request: r, endpoint: ep, origin: origin, era: eraOf(r.Header, &wire.Params{})}
	if x.era == core.Modern {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "method not allowed")
		return
	}
	if id := headerValue(r.Header, sessionHeader); id != "" {
		s := b.sessions.acquire(id, origin.token, ep.path, b.Now())
		if s == nil {
			refuse(w, http.StatusNotFound, codeNotFound, "the session is unknown or has ended")
			return
		}
		defer b.handleShimDisconnect(s)
		defer func() { s.release(b.Now()) }()
		x.session = s
		if x.listener = b.listeners.find(s.sdk); x.listener != nil {
			defer func() { x.listener.detachStream(x.response) }()
		}
	}
	b.serveSDK(w, x)
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
	listener *listener       // of a stream for notifications that belong to no request
	done     <-chan struct{} // closed when the HTTP request has ended; only for a request that go-sdk handles
	batched  bool            // one of several messages in an HTTP request
}

// reply sends the response to the request.
func (x *exchange) reply(status int, parts ...[]byte) {
	if x.batched {
		_ = x.response.sendEvent(parts...)
		return
	}
	x.response.reply(status, parts...)
}

// canServeFast reports whether a request may take the fast path: dispatch handles its method, and
// the client accepts both forms of response.
func (x *exchange) canServeFast() bool {
	header := x.request.Header
	return x.isForDispatch() && x.hasUsableParams() && acceptsJSONAndStream(header) && header["Last-Event-Id"] == nil
}

// isForDispatch reports whether dispatch handles the method at the endpoint, rather than go-sdk.
func (x *exchange) isForDispatch() bool {
	return isBridgeMethod(x.env.Method) || x.endpoint.server != "" && wire.IsExtensionMethod(x.env.Method)
}

// hasUsableParams reports whether the params are an object, or absent where they may be.
func (x *exchange) hasUsableParams() bool {
	raw := x.rawParams()
	if len(raw) == 0 {
		return !callMethods[x.env.Method]
	}
	return raw[0] == '{'
}

// isValidModern reports whether a modern request is valid: its headers match its body and it has
// the client's capabilities. It returns false for a tool with header parameters as well, because
// go-sdk compares those. Requests for which it returns false go to go-sdk, which refuses the
// invalid ones.
func (b *Bridge) isValidModern(x *exchange) bool {
	header, raw, p := x.request.Header, x.rawParams(), &x.params
	if headerValue(header, versionHeader) != core.ModernVersion || string(wire.Bytes(raw, p.ProtocolVersion)) != `"`+core.ModernVersion+`"` {
		return false
	}
	if can := wire.Bytes(raw, p.ClientCapabilities); len(can) == 0 || can[0] != '{' {
		return false
	}
	if info := wire.Bytes(raw, p.ClientInfo); len(info) > 0 && info[0] != '{' {
		return false
	}
	if headerValue(header, methodHeader) != x.env.Method {
		return false
	}
	var named core.Span
	switch x.env.Method {
	case "tools/call", "prompts/get":
		named = p.Name
	case "resources/read":
		named = p.URI
	default:
		return !isTaskMethod(x.env.Method) || x.namesTask()
	}
	name, ok := wire.Unquote(wire.Bytes(raw, named))
	if !ok || name == "" || headerValue(header, nameHeader) != name {
		return false
	}
	return x.env.Method != "tools/call" || !b.requiresHeaders(b.endpointServer(x.endpoint), x.origin.token, name) || b.isHiddenByProfile(x, name)
}

// eraOf returns the era of a request. A request is modern if its header names a modern revision or
// if its params have a protocol version in _meta. Either is sufficient, so that a request whose
// header and body disagree is refused as a modern one. Everything else is legacy, including an
// initialize without _meta that has modern headers.
func eraOf(header http.Header, p *wire.Params) core.Era {
	if headerValue(header, versionHeader) >= core.ModernVersion || !p.ProtocolVersion.Empty() {
		return core.Modern
	}
	return core.Legacy
}

// serveBatch serves the elements of a JSON-RPC batch one after the other. Only legacy clients
// before revision 2025-06-18 may send batches. The responses are the events of one stream.
func (b *Bridge) serveBatch(w http.ResponseWriter, x *exchange) {
	if headerValue(x.request.Header, versionHeader) >= firstWithoutBatches {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "batches are no longer supported as of revision "+firstWithoutBatches)
		return
	}
	elements, err := parseBatch(x.body)
	if err != nil {
		refuseMessage(w, nil, err)
		return
	}
	x.batched, x.response = true, b.newResponseWriter(w, false)
	defer x.response.end()
	requests := 0
	for _, m := range elements {
		element := *x
		element.message = m
		switch {
		case m.env.Kind == wire.Response:
			x.session.deliverResponse(b, m)
		case m.env.Kind == wire.Notification:
			b.receiveNotification(x, m)
		case isBridgeMethod(m.env.Method) && element.hasUsableParams():
			requests++
			b.serveRequest(&element)
		default:
			requests++
			element.reply(http.StatusOK, wire.AppendError(nil, m.id(), codeInvalidRequest, "this request must not be part of a batch", nil))
		}
	}
	if requests == 0 {
		w.WriteHeader(http.StatusAccepted)
	}
}

const firstWithoutBatches = "2025-06-18"

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
