package bridge

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// exchange is an HTTP request with its parsed message and everything that is known about it.
type exchange struct {
	*message
	at      endpoint
	from    requestOrigin
	era     core.Era
	session *session        // nil for a modern client, and for a legacy client before initialize
	out     *responseWriter // only for a request that go-sdk handles
	over    <-chan struct{} // closed when the HTTP request has ended
}

// request is a JSON-RPC request that dispatch handles. It is independent of whether the request
// arrived on the fast path or through go-sdk.
type request struct {
	at           endpoint
	era          core.Era
	session      *session
	client       core.Client
	shim         string
	workspace    string // the folder in which the shim was started
	trace, span  string // from the client's traceparent, or ""
	method       string
	params       []byte       // raw object as the client sent it, or nil
	spans        *wire.Params // of params
	capabilities json.RawMessage
	unfolded     bool   // it was unwrapped from a call of call_tool
	repaired     bool   // it contained invalid Unicode, which was replaced
	level        string // minimum level of log messages; "" to send none
}

// listKinds are the list methods, whose results are cached.
var listKinds = map[string]core.Kind{
	"tools/list":               core.Tools,
	"prompts/list":             core.Prompts,
	"resources/list":           core.Resources,
	"resources/templates/list": core.Templates,
}

// callMethods are the methods that are forwarded to a server.
var callMethods = map[string]bool{
	"tools/call": true, "prompts/get": true, "resources/read": true, "completion/complete": true,
}

// handledByUs reports whether dispatch handles the method, rather than go-sdk.
func handledByUs(method string) bool {
	_, list := listKinds[method]
	return list || callMethods[method]
}

// canServeFast reports whether a request may take the fast path: dispatch handles its method, its
// params are absent or an object, and the client accepts both forms of response.
func (x *exchange) canServeFast(header http.Header) bool {
	if !handledByUs(x.env.Method) || !acceptsJSONAndStream(header) || header["Last-Event-Id"] != nil {
		return false
	}
	raw := x.rawParams()
	if len(raw) == 0 {
		return !callMethods[x.env.Method]
	}
	return raw[0] == '{'
}

// validModern reports whether a modern request is valid: its headers match its body and it has the
// client's capabilities. It returns false for a tool with header parameters as well, because go-sdk
// compares those. Requests for which it returns false go to go-sdk, which refuses the invalid ones.
func (b *Bridge) validModern(header http.Header, x *exchange) bool {
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
	return x.env.Method != "tools/call" || !b.wantsHeaders(b.endpointServer(x.at), x.from.token, name) || b.outsideProfile(x, name)
}

// newRequest builds the request of an exchange.
func (b *Bridge) newRequest(x *exchange, header http.Header) *request {
	raw := x.rawParams()
	rq := &request{
		at: x.at, era: x.era, session: x.session, shim: x.from.shim, workspace: x.from.workspace,
		method: x.env.Method, params: raw, spans: &x.params, repaired: x.repaired,
	}
	rq.trace, rq.span = traceParent(headerValue(header, "Traceparent"))
	if rq.trace == "" && !x.params.TraceParent.Empty() {
		parent, _ := wire.Unquote(wire.Bytes(raw, x.params.TraceParent))
		rq.trace, rq.span = traceParent(parent)
	}
	if s := x.session; s != nil {
		rq.client, rq.capabilities, rq.level = s.client, s.capabilities, s.logLevel()
		return rq
	}
	rq.client = b.clientInfoCache.get(x.from.token, wire.Bytes(raw, x.params.ClientInfo))
	if x.era == core.Modern {
		rq.capabilities = wire.Bytes(raw, x.params.ClientCapabilities)
		rq.level, _ = wire.Unquote(wire.Bytes(raw, x.params.LogLevel))
	}
	return rq
}

// clientInfoCache caches parsed client infos, because modern clients send theirs with every
// request. The zero value is ready to use.
type clientInfoCache struct {
	mu    sync.Mutex // guards known
	known map[string]core.Client
}

// Limits of clientInfoCache.
const (
	maxCachedInfos = 64
	maxClientInfo  = 512 // bytes; larger ones are not cached
)

func (i *clientInfoCache) get(token string, info []byte) core.Client {
	if len(info) > maxClientInfo {
		return parseClientInfo(token, info)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	c, ok := i.known[string(info)]
	if !ok {
		if i.known == nil || len(i.known) >= maxCachedInfos {
			i.known = make(map[string]core.Client)
		}
		c = parseClientInfo("", info)
		i.known[string(info)] = c
	}
	c.Token = token
	return c
}

// parseClientInfo parses the clientInfo object that a client sent.
func parseClientInfo(token string, info []byte) core.Client {
	c := core.Client{Token: token}
	if len(info) == 0 || info[0] != '{' {
		return c
	}
	_ = wire.Members(info, func(m wire.Member) error {
		switch string(m.Name) {
		case "name":
			c.Name, _ = wire.Unquote(wire.Bytes(info, m.Value))
		case "version":
			c.Version, _ = wire.Unquote(wire.Bytes(info, m.Value))
		}
		return nil
	})
	c.Name, c.Version = shorten(c.Name), shorten(c.Version)
	return c
}

// shorten limits a string from a client to 128 bytes.
func shorten(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
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
