package bridge

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// request is a JSON-RPC request that dispatch handles. It is independent of whether the request
// arrived on the fast path or through go-sdk.
type request struct {
	endpoint        endpoint
	era             core.Era
	session         *session
	client          core.Client
	shim            string
	workspace       string // the folder in which the shim was started
	traceID, spanID string // from the client's traceparent, or ""
	method          string
	params          []byte       // raw object as the client sent it, or nil
	spans           *wire.Params // of params
	capabilities    json.RawMessage
	unwrapped       bool   // it was unwrapped from a call of call_tool
	repaired        bool   // it contained invalid Unicode, which was replaced
	logLevel        string // minimum level of log messages; "" to send none
}

// listMethods are the list methods, whose results are cached.
var listMethods = map[string]core.Kind{
	"tools/list":               core.Tools,
	"prompts/list":             core.Prompts,
	"resources/list":           core.Resources,
	"resources/templates/list": core.Templates,
}

// callMethods are the methods that are forwarded to a server.
var callMethods = map[string]bool{
	"tools/call": true, "prompts/get": true, "resources/read": true, "completion/complete": true,
}

// isBridgeMethod reports whether dispatch handles the method, rather than go-sdk.
func isBridgeMethod(method string) bool {
	_, list := listMethods[method]
	return list || callMethods[method]
}

// newRequest builds the request of an exchange.
func (b *Bridge) newRequest(x *exchange, header http.Header) *request {
	raw := x.rawParams()
	rq := &request{
		endpoint: x.endpoint, era: x.era, session: x.session, shim: x.origin.shim, workspace: x.origin.workspace,
		method: x.env.Method, params: raw, spans: &x.params, repaired: x.repaired,
	}
	rq.traceID, rq.spanID = traceParent(headerValue(header, "Traceparent"))
	if rq.traceID == "" && !x.params.TraceParent.Empty() {
		parent, _ := wire.Unquote(wire.Bytes(raw, x.params.TraceParent))
		rq.traceID, rq.spanID = traceParent(parent)
	}
	if s := x.session; s != nil {
		rq.client, rq.capabilities, rq.logLevel = s.client, s.capabilities, s.logLevel()
		return rq
	}
	rq.client = b.clientInfoCache.get(x.origin.token, wire.Bytes(raw, x.params.ClientInfo))
	if x.era == core.Modern {
		rq.capabilities = wire.Bytes(raw, x.params.ClientCapabilities)
		rq.logLevel, _ = wire.Unquote(wire.Bytes(raw, x.params.LogLevel))
	}
	return rq
}

// traceParent parses a W3C traceparent. It returns empty strings if the value is invalid.
func traceParent(parent string) (trace, span string) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || len(parts[2]) != 16 || strings.Trim(parts[1]+parts[2], "0123456789abcdef") != "" {
		return "", ""
	}
	return parts[1], parts[2]
}

// protocol returns the protocol revision of the client, or "" if it is unknown.
func (rq *request) protocol() string {
	switch {
	case rq.era == core.Modern:
		return core.ModernVersion
	case rq.session != nil:
		return rq.session.version
	}
	return ""
}

// sdkLegacyMethods are the methods that only go-sdk handles, and only in the legacy era.
var sdkLegacyMethods = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true,
	"resources/subscribe": true, "resources/unsubscribe": true,
}
