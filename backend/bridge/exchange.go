package bridge

import (
	"net/http"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// exchange is an HTTP request with its parsed message and everything that is known about it.
type exchange struct {
	*message
	endpoint endpoint
	origin   requestOrigin
	era      core.Era
	session  *session        // nil for a modern client, and for a legacy client before initialize
	response *responseWriter // only for a request that go-sdk handles
	done     <-chan struct{} // closed when the HTTP request has ended
}

// canServeFast reports whether a request may take the fast path: dispatch handles its method, its
// params are absent or an object, and the client accepts both forms of response.
func (x *exchange) canServeFast(header http.Header) bool {
	if !isBridgeMethod(x.env.Method) || !acceptsJSONAndStream(header) || header["Last-Event-Id"] != nil {
		return false
	}
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
func (b *Bridge) isValidModern(header http.Header, x *exchange) bool {
	raw, p := x.rawParams(), &x.params
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
		return true
	}
	name, ok := wire.Unquote(wire.Bytes(raw, named))
	if !ok || name == "" || headerValue(header, nameHeader) != name {
		return false
	}
	return x.env.Method != "tools/call" || !b.requiresHeaders(b.endpointServer(x.endpoint), x.origin.token, name) || b.isHiddenByProfile(x, name)
}
