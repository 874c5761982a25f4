package bridge

import (
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// sdkPreservesID reports whether go-sdk gives an id back as it came: it reads numbers as
// float64, which rounds integers beyond 2^53 and spells others in its own way.
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

// substituteID replaces an id that go-sdk would change by one that occurs nowhere else.
// The writer puts the client's own back: see sdkWriter.
func (x *exchange) substituteID(ticket string) (body, id []byte) {
	id = wire.AppendString(nil, ticket)
	return wire.Splice(nil, x.body, wire.Edit{Span: x.env.ID, With: id}), id
}

// notFoundText says what an address lacks.
func notFoundText(at endpoint) string {
	switch {
	case core.ValidServerID(at.server):
		return `no server is called "` + at.server + `"`
	case core.ValidServerID(at.profile):
		return `no profile is called "` + at.profile + `"`
	}
	return "there is no MCP server at this address"
}

// refuseAddress answers a request to an address behind which nothing is for its client.
// That finds its answer by the id, so a request is read for that alone.
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

// legacyOnly are the requests that go-sdk answers in the legacy era, besides ours.
var legacyOnly = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true,
	"resources/subscribe": true, "resources/unsubscribe": true,
}

// sdkError makes a JSON-RPC error of a plain text that go-sdk refuses a request with.
func sdkError(id []byte, text string) []byte {
	return wire.AppendError(nil, id, codeInvalidRequest, strings.TrimSpace(text), nil)
}
