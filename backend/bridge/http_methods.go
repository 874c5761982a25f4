package bridge

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

func (b *Bridge) post(w http.ResponseWriter, r *http.Request, at endpoint, from requestOrigin) {
	if !isJSON(r.Header) {
		refuse(w, http.StatusUnsupportedMediaType, codeInvalidRequest, "the content type must be application/json")
		return
	}
	body, leave, err := b.readBody(w, r)
	defer leave()
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
	m, err := parse(body)
	if err != nil {
		refuseMessage(w, m, err)
		return
	}
	if m.env.Kind == wire.Other {
		refuse(w, http.StatusBadRequest, codeInvalidRequest, "the message is neither request, notification nor response")
		return
	}
	if !m.env.Version && m.env.Kind != wire.Batch {
		writeError(w, http.StatusBadRequest, m.id(), codeInvalidRequest, `the message does not say "jsonrpc":"2.0"`)
		return
	}
	if !normalizeName(r.Header) {
		writeError(w, http.StatusBadRequest, m.id(), codeHeaderMismatch, "the Mcp-Name header holds no valid base64")
		return
	}
	x := &exchange{at: at, from: from, message: m, era: eraOf(r.Header, &m.params)}
	if x.era == core.Modern {
		b.postModern(w, r, x)
	} else {
		b.postLegacy(w, r, x)
	}
}

func (b *Bridge) postModern(w http.ResponseWriter, r *http.Request, x *exchange) {
	delete(r.Header, sessionHeader) // has no meaning in this era
	if x.env.Kind == wire.Request && !b.cold && x.canServeFast(r.Header) && b.validModern(r.Header, x) {
		b.serveFast(w, r, x)
		return
	}
	if x.env.Kind == wire.Request && x.env.Method == "subscriptions/listen" {
		if !b.streams.acquire(x.from.token) {
			writeError(w, http.StatusTooManyRequests, x.id(), codeRefused, "this client holds too many streams open")
			return
		}
		defer b.streams.release(x.from.token)
	}
	b.fallThrough(w, r, x)
}

func (b *Bridge) postLegacy(w http.ResponseWriter, r *http.Request, x *exchange) {
	if id := headerValue(r.Header, sessionHeader); id != "" {
		s := b.sessions.acquire(id, x.from.token, x.at.path, b.Now())
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
				s.roots.changed()
			}
			if x.env.Method == "notifications/cancelled" && s.cancelled(wire.Bytes(x.rawParams(), x.params.RequestID)) {
				w.WriteHeader(http.StatusAccepted)
				return
			}
		case wire.Request:
			if !handledByUs(x.env.Method) && !legacyOnly[x.env.Method] {
				writeError(w, http.StatusOK, x.id(), codeMethodNotFound, "there is no such method")
				return
			}
			if v := headerValue(r.Header, versionHeader); (v == "" || legacyVersions[v]) && !b.cold && x.canServeFast(r.Header) {
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
	} else if x.env.Method == "initialize" && b.sessions.full(x.from.token) {
		// go-sdk would respond with the id of a session that is closed immediately.
		writeError(w, http.StatusTooManyRequests, x.id(), codeRefused, tooManySessions)
		return
	}
	b.fallThrough(w, r, x)
}

// get opens the stream on which a legacy client receives the messages that belong to no call.
func (b *Bridge) get(w http.ResponseWriter, r *http.Request, at endpoint, from requestOrigin) {
	x := &exchange{at: at, from: from, era: eraOf(r.Header, &wire.Params{})}
	if x.era == core.Modern {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, codeInvalidRequest, "the method is not allowed")
		return
	}
	if id := headerValue(r.Header, sessionHeader); id != "" {
		s := b.sessions.acquire(id, from.token, at.path, b.Now())
		if s == nil {
			refuse(w, http.StatusNotFound, codeNotFound, "the session is unknown or has ended")
			return
		}
		defer b.shimDisconnected(s)
		defer func() { s.release(b.Now()) }()
		x.session = s
	}
	b.fallThrough(w, r, x)
}

func (b *Bridge) delete(w http.ResponseWriter, r *http.Request, at endpoint, from requestOrigin) {
	if eraOf(r.Header, &wire.Params{}) == core.Modern {
		if from.shim != "" { // a shim that disconnects; the modern era has no session to end
			b.endShim(from.token, from.shim)
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
	s := b.sessions.removeByID(id, from.token, at.path)
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
