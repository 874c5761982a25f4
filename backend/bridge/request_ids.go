package bridge

import (
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// sdkPreservesID reports whether go-sdk responds with an id byte for byte. It decodes numbers as
// float64, which rounds integers beyond 2^53 and changes the notation of others.
func sdkPreservesID(id []byte) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	if len(id) > 15 || len(id) > 1 && id[0] == '0' {
		return false
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// substituteID replaces an id that go-sdk would change with a unique string. sdkWriter restores the
// id of the client.
func (x *exchange) substituteID(ticket string) (body, id []byte) {
	id = wire.AppendString(nil, ticket)
	return wire.Splice(nil, x.body, wire.Edit{Span: x.env.ID, With: id}), id
}

// notFoundText returns the error message for an endpoint that does not exist.
func notFoundText(at endpoint) string {
	switch {
	case core.ValidServerID(at.server):
		return `no server is called "` + at.server + `"`
	case core.ValidServerID(at.profile):
		return `no profile is called "` + at.profile + `"`
	}
	return "there is no MCP server at this address"
}

// refuseAddress responds with 404 to a request for an endpoint that does not exist or that its
// client may not use. It reads the body only to respond with the id of the request.
func (b *Bridge) refuseAddress(w http.ResponseWriter, r *http.Request, text string) {
	var id []byte
	if r.Method == http.MethodPost {
		body, leave, err := b.readBody(w, r)
		defer leave()
		if err == nil {
			if m, err := parse(body); err == nil && m.env.Kind == wire.Request {
				id = m.id()
			}
		}
	}
	writeError(w, http.StatusNotFound, id, codeNotFound, text)
}

// legacyOnly are the methods that only go-sdk handles, and only in the legacy era.
var legacyOnly = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true,
	"resources/subscribe": true, "resources/unsubscribe": true,
}

// sdkError converts a plain-text error of go-sdk to a JSON-RPC error.
func sdkError(id []byte, text string) []byte {
	return wire.AppendError(nil, id, codeInvalidRequest, strings.TrimSpace(text), nil)
}
