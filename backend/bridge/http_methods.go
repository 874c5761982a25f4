package bridge

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const (
	// privatePrefix is the prefix of the headers that only Drawbridge sets. The loopback guard
	// removes them from incoming requests, except those of the shim.
	privatePrefix = "X-Drawbridge-"
	// ClientHeader is the name of the client's token. The loopback guard sets it after
	// authentication.
	ClientHeader = privatePrefix + "Client"
	// ShimHeader identifies the stdio shim that forwards the request. It is not verified.
	ShimHeader = privatePrefix + "Shim"
	// ticketHeader links a call of go-sdk's middleware to the exchange of its request. A context
	// cannot do so, because the SDK passes the context of the first request of the session.
	ticketHeader = privatePrefix + "Ticket"
)

// requestOrigin is the verified client and the shim that a request comes from.
type requestOrigin struct {
	token string // name of the token; "" without one
	shim  string
	// workspace is the folder in which the shim was started.
	workspace string
}

// readOrigin reads the private headers of a request and removes all of them.
func readOrigin(header http.Header) requestOrigin {
	from := requestOrigin{token: headerValue(header, ClientHeader), shim: headerValue(header, ShimHeader), workspace: workspaceOf(headerValue(header, WorkspaceHeader))}
	for name := range header {
		if len(name) > len(privatePrefix) && strings.EqualFold(name[:len(privatePrefix)], privatePrefix) {
			delete(header, name)
		}
	}
	return from
}

// message is the body of a POST request, with the result of scanning it.
type message struct {
	body   []byte
	env    wire.Envelope
	params wire.Params // spans of rawParams
	// repaired reports that the body contained invalid Unicode, which was replaced.
	repaired bool
}

func (m *message) id() []byte        { return wire.Bytes(m.body, m.env.ID) }
func (m *message) rawParams() []byte { return wire.Bytes(m.body, m.env.Params) }

// parse scans a body. The error is a *wire.Error. If only the params are invalid, parse returns the
// message as well, so that the error response can have its id.
func parse(body []byte) (*message, error) {
	m := &message{body: body}
	var err error
	if m.env, err = wire.Scan(body); err != nil {
		return nil, err
	}
	if m.env.Dirty() {
		// Messages to stdio servers are delimited by newlines, so none may occur between tokens.
		m.repaired = m.env.Broken
		m.body = wire.Compact(make([]byte, 0, len(body)), body)
		if m.env, err = wire.Scan(m.body); err != nil {
			return nil, err
		}
	}
	if raw := m.rawParams(); len(raw) > 0 && raw[0] == '{' {
		if m.params, err = wire.ScanParams(raw); err != nil {
			return m, err
		}
	}
	return m, nil
}

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

func isJSON(header http.Header) bool {
	v := headerValue(header, "Content-Type")
	if v == "application/json" {
		return true
	}
	kind, _, err := mime.ParseMediaType(v)
	return err == nil && kind == "application/json"
}

// withBody replaces the consumed body of a request.
func withBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}
