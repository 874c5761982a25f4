package bridge

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

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
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, codeInvalidRequest, "the request is too large")
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, codeParse, "the request could not be read")
		return
	}
	m, err := parseMessage(body)
	if err != nil {
		refuseMessage(w, m, err)
		return
	}
	if m.env.Kind == wire.Other {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "the message is neither request, notification nor response")
		return
	}
	if !m.env.Version && m.env.Kind != wire.Batch {
		writeError(w, http.StatusBadRequest, m.id(), codeInvalidRequest, `the message lacks "jsonrpc":"2.0"`)
		return
	}
	if !normalizeName(r.Header) {
		writeError(w, http.StatusBadRequest, m.id(), codeHeaderMismatch, "the Mcp-Name header is not valid base64")
		return
	}
	x := &exchange{endpoint: ep, origin: origin, message: m, era: eraOf(r.Header, &m.params)}
	if x.era == core.Modern {
		b.serveModernPost(w, r, x)
	} else {
		b.serveLegacyPost(w, r, x)
	}
}

func (b *Bridge) serveModernPost(w http.ResponseWriter, r *http.Request, x *exchange) {
	delete(r.Header, sessionHeader) // has no meaning in this era
	if x.env.Kind == wire.Request && !b.fastPathDisabled && x.canServeFast(r.Header) && b.isValidModern(r.Header, x) {
		b.serveFast(w, r, x)
		return
	}
	if x.env.Kind == wire.Request && x.env.Method == "subscriptions/listen" {
		if !b.streams.acquire(x.origin.token) {
			writeError(w, http.StatusTooManyRequests, x.id(), codeRefused, "this client has too many open streams")
			return
		}
		defer b.streams.release(x.origin.token)
	}
	b.serveSDK(w, r, x)
}

func (b *Bridge) serveLegacyPost(w http.ResponseWriter, r *http.Request, x *exchange) {
	if id := headerValue(r.Header, sessionHeader); id != "" {
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
			if x.env.Method == "notifications/roots/list_changed" {
				s.roots.invalidate()
			}
			if x.env.Method == "notifications/cancelled" && s.cancelCall(wire.Bytes(x.rawParams(), x.params.RequestID)) {
				w.WriteHeader(http.StatusAccepted)
				return
			}
		case wire.Request:
			if !isBridgeMethod(x.env.Method) && !sdkLegacyMethods[x.env.Method] {
				writeError(w, http.StatusOK, x.id(), codeMethodNotFound, "there is no such method")
				return
			}
			if v := headerValue(r.Header, versionHeader); (v == "" || legacyVersions[v]) && !b.fastPathDisabled && x.canServeFast(r.Header) {
				b.serveFast(w, r, x)
				return
			}
		case wire.Batch:
			rest, err := b.splitBatch(x)
			if err != nil {
				refuseMessage(w, nil, err)
				return
			}
			if rest == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			x.body = rest
		}
	} else if x.env.Kind != wire.Request || x.env.Method != "initialize" && x.env.Method != "ping" {
		writeError(w, http.StatusBadRequest, x.id(), codeInvalidRequest, "there is no session yet: send initialize first, then its Mcp-Session-Id with every request")
		return
	} else if x.env.Method == "initialize" && b.sessions.full(x.origin.token) {
		// go-sdk would respond with the id of a session that is closed immediately.
		writeError(w, http.StatusTooManyRequests, x.id(), codeRefused, tooManySessions)
		return
	}
	b.serveSDK(w, r, x)
}

// serveGet opens the stream on which a legacy client receives the messages that belong to no call.
func (b *Bridge) serveGet(w http.ResponseWriter, r *http.Request, ep endpoint, origin requestOrigin) {
	x := &exchange{endpoint: ep, origin: origin, era: eraOf(r.Header, &wire.Params{})}
	if x.era == core.Modern {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "the method is not allowed")
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
	}
	b.serveSDK(w, r, x)
}

func (b *Bridge) serveDelete(w http.ResponseWriter, r *http.Request, ep endpoint, origin requestOrigin) {
	if eraOf(r.Header, &wire.Params{}) == core.Modern {
		if origin.shim != "" { // a shim that disconnects; the modern era has no session to end
			b.notifyShimEnded(origin.token, origin.shim)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "the method is not allowed")
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

// withBody replaces the consumed body of a request.
func withBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}
