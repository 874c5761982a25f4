package bridge

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// exchange is one HTTP request on its way through the bridge.
type exchange struct {
	*message
	at      endpoint
	from    requestOrigin
	era     core.Era
	session *session        // of a legacy client, once it has one
	out     *responseWriter // of a request that go-sdk handles
	over    <-chan struct{} // closed when the HTTP request of it is over
}

// request is one JSON-RPC request that we answer ourselves, from whichever side it
// reached the answer function.
type request struct {
	at           endpoint
	era          core.Era
	session      *session
	client       core.Client
	shim         string
	workspace    string // the folder in which the shim was started
	trace, span  string // of the client, "" when it said nothing
	method       string
	params       []byte       // raw object as the client wrote it, or nil
	spans        *wire.Params // of params
	capabilities json.RawMessage
	unfolded     bool   // it came in a call_tool
	repaired     bool   // its text was not valid Unicode
	level        string // what the client wants to hear of the server's log, "" for nothing said
}

// listKinds are the methods whose answers are cached bytes.
var listKinds = map[string]core.Kind{
	"tools/list":               core.Tools,
	"prompts/list":             core.Prompts,
	"resources/list":           core.Resources,
	"resources/templates/list": core.Templates,
}

// callMethods are the methods that lead to a server.
var callMethods = map[string]bool{
	"tools/call": true, "prompts/get": true, "resources/read": true, "completion/complete": true,
}

// handledByUs reports whether we answer the method ourselves.
func handledByUs(method string) bool {
	_, list := listKinds[method]
	return list || callMethods[method]
}

// canServeFast reports whether a request may take the hot path: a method of ours with
// sound params, and a client that takes either form of answer.
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

// validModern holds what a modern request must say besides: the same in its headers
// as in its body, and the client's capabilities. A tool that wants arguments
// repeated in headers is left to go-sdk, which compares them.
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

// newRequest gathers what the answer function needs from an exchange.
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

// clientInfoCache remember what clients say of themselves: a modern one says it with every
// request. The zero value is ready to use.
type clientInfoCache struct {
	mu    sync.Mutex // guards known
	known map[string]core.Client
}

// Bounds of what is remembered.
const (
	maxCachedInfos = 64
	maxClientInfo  = 512 // bytes of one
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

// parseClientInfo reads what a client says of itself.
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

// shorten bounds what a client may claim as its name.
func shorten(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// traceParent returns the ids of a traceparent, or "".
func traceParent(parent string) (trace, span string) {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || len(parts[2]) != 16 || strings.Trim(parts[1]+parts[2], "0123456789abcdef") != "" {
		return "", ""
	}
	return parts[1], parts[2]
}

// protocol is the revision of MCP that the client speaks.
func (rq *request) protocol() string {
	switch {
	case rq.era == core.Modern:
		return core.ModernVersion
	case rq.session != nil:
		return rq.session.version
	}
	return ""
}
