package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// method is how the requests of one method are served.
type method struct {
	legacy, modern bool // the eras that have it
	needsParams    bool
	withoutSession bool // a legacy client may send it before it has a session
	opensStream    bool // its response is a stream that the client keeps open
	forServers     bool // the folder of the client may limit what it reaches
	serve          func(context.Context, *request, *callMessageHandler) (splitResult, *rpcError)
}

// newMethods returns all methods that a client may request. The one without a name serves those of
// extensions that the bridge does not know.
func (b *Bridge) newMethods() map[string]*method {
	list := &method{legacy: true, modern: true, forServers: true, serve: b.list}
	call := &method{legacy: true, modern: true, forServers: true, needsParams: true, serve: b.calls.call}
	task := func(legacy, modern bool) *method {
		return &method{legacy: legacy, modern: modern, forServers: true, serve: b.tasks.serve}
	}
	return map[string]*method{
		"initialize":      {legacy: true, withoutSession: true, needsParams: true, serve: b.initialize},
		"ping":            {legacy: true, withoutSession: true, serve: servePing},
		"server/discover": {modern: true, serve: b.discover},

		"logging/setLevel":      {legacy: true, needsParams: true, serve: setLogLevel},
		"resources/subscribe":   {legacy: true, needsParams: true, serve: b.subscriptions.serveSubscribe},
		"resources/unsubscribe": {legacy: true, needsParams: true, serve: b.subscriptions.serveUnsubscribe},
		"subscriptions/listen":  {modern: true, needsParams: true, opensStream: true, serve: b.listen},

		"tools/list": list, "prompts/list": list, "resources/list": list, "resources/templates/list": list,
		"tools/call": call, "prompts/get": call, "resources/read": call, "completion/complete": call,
		"tasks/get": task(true, true), "tasks/cancel": task(true, true), "tasks/update": task(false, true), "tasks/list": task(true, false), "tasks/result": task(true, false),
		"": {legacy: true, modern: true, forServers: true, serve: b.calls.callExtension},
	}
}

// methodOf returns how a request is served, or nil if its endpoint and era do not have the method.
func (b *Bridge) methodOf(x *exchange) *method {
	m := b.methods[x.env.Method]
	switch {
	case m == nil && x.endpoint.server != "" && wire.IsExtensionMethod(x.env.Method):
		return b.methods[""]
	case m != nil && x.env.Method != "" && (m.legacy && x.era == core.Legacy || m.modern && x.era == core.Modern):
		return m
	}
	return nil
}

// encode returns v as JSON in which no characters are escaped for HTML.
func encode(v any) (raw []byte, rpcErr *rpcError) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, newError(codeInternal, err.Error())
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// invalidParams returns the error for params that do not have the types of the protocol.
func (rq *request) invalidParams() *rpcError {
	return newError(codeInvalidParams, fmt.Sprintf("the params of %q do not match the schema of the protocol", rq.method))
}

func servePing(context.Context, *request, *callMessageHandler) (splitResult, *rpcError) {
	return splitResult{head: []byte("{}")}, nil
}

func setLogLevel(_ context.Context, rq *request, _ *callMessageHandler) (splitResult, *rpcError) {
	level, ok := wire.Unquote(wire.Bytes(rq.params, rq.spans.Level))
	switch {
	case !ok:
		return splitResult{}, rq.invalidParams()
	case severities[level] == 0:
		return splitResult{}, newError(codeInvalidParams, "the log level is unknown")
	}
	rq.session.level.Store(&level)
	return splitResult{head: []byte("{}")}, nil
}

// maxInitializeParams bounds the params of initialize in bytes, because the session keeps them.
const maxInitializeParams = 256 << 10

func (b *Bridge) initialize(ctx context.Context, rq *request, sink *callMessageHandler) (splitResult, *rpcError) {
	var params mcp.InitializeParams
	tooManySessions := newRefusal(http.StatusTooManyRequests, codeRefused, "this client has too many open sessions: end one first")
	switch {
	case rq.session != nil:
		return splitResult{}, newError(codeInvalidRequest, "the session is initialized already")
	case len(rq.params) > maxInitializeParams:
		return splitResult{}, newError(codeInvalidParams, "the params of initialize are larger than "+core.FormatLimit(maxInitializeParams))
	case json.Unmarshal(rq.params, &params) != nil:
		return splitResult{}, rq.invalidParams()
	case b.sessions.full(rq.token):
		return splitResult{}, tooManySessions
	}
	id := rand.Text()
	sink.response.setHeader(sessionHeader, id) // before a comment begins the stream
	if rq.endpoint.server != "" {
		b.Lister.WaitListed(ctx, rq.endpoint.server)
	}
	client := b.clients.identify(rq.requestOrigin, wire.Bytes(rq.params, rq.spans.InitInfo))
	capabilities := withoutTasks(bytes.Clone(wire.Bytes(rq.params, rq.spans.InitCapabilities))) // the session outlives the body
	protocol := supportedVersions[1]
	if legacyVersions[params.ProtocolVersion] {
		protocol = params.ProtocolVersion
	}
	b.clients.record(rq.guest, client, core.Legacy, protocol, capabilities)
	rq.endpoint.limits = b.views.limitsOf(rq.endpoint, rq.token) // its name may tell them
	offers := b.views.of(rq.endpoint, "").Offers()
	result := mcp.InitializeResult{
		Capabilities: endpointCapabilities(rq.endpoint, offers), Instructions: endpointInstructions(rq.endpoint, offers),
		ProtocolVersion: protocol, ServerInfo: &b.info,
	}
	result.Capabilities.Extensions = sharedExtensions(core.Legacy, wire.Bytes(rq.params, rq.spans.InitCapabilities), offers)
	s := &session{
		id: id, token: rq.token, endpoint: rq.endpoint.path, lastUsed: b.Now(), shim: rq.shim,
		client: client, version: protocol, capabilities: capabilities,
	}
	s.parsedCapabilities = parseClientCapabilities(s.capabilities)
	s.ctx, s.cancel = context.WithCancelCause(b.lifetime)
	s.listener = b.listeners.open(rq, s, nil, nil)
	evicted, ok := b.sessions.add(s)
	if !ok {
		s.cancel(errSessionEnded)
		b.listeners.remove(s.listener)
		return splitResult{}, tooManySessions
	}
	if evicted != nil {
		b.endSession(evicted, "too many sessions of this client")
	}
	head, rpcErr := encode(&result)
	if rpcErr != nil {
		return splitResult{}, rpcErr
	}
	if tasks := legacyTasks(rq.endpoint, offers); tasks != nil && s.version >= firstWithTasks {
		found, _ := wire.Pick(head, "capabilities") // go-sdk does not know tasks
		head = wire.Splice(nil, head, insertMember(found[0].Start, wire.Bytes(head, found[0]), append([]byte(`"tasks":`), tasks...)))
	}
	return splitResult{head: head}, nil
}

func (b *Bridge) discover(ctx context.Context, rq *request, _ *callMessageHandler) (splitResult, *rpcError) {
	b.modern.begin(rq, b.Now())
	b.clients.recordModern(rq)
	rq.endpoint.limits = b.views.limitsOf(rq.endpoint, rq.token)
	if rq.endpoint.server != "" {
		b.Lister.WaitListed(ctx, rq.endpoint.server)
	}
	offers := b.views.of(rq.endpoint, "").Offers()
	result := mcp.DiscoverResult{
		Cacheable:         mcp.Cacheable{CacheScope: "private"}, // it depends on the client and its profile
		SupportedVersions: supportedVersions,
		Capabilities:      endpointCapabilities(rq.endpoint, offers), Instructions: endpointInstructions(rq.endpoint, offers),
	}
	result.Capabilities.Extensions = sharedExtensions(core.Modern, rq.capabilities, offers)
	raw, rpcErr := encode(&result)
	if rpcErr != nil {
		return splitResult{}, rpcErr
	}
	return b.results.complete(rq.method, raw), nil
}

// endpointCapabilities returns the capabilities of the server behind an endpoint. The aggregate endpoint keeps all lists, because a server with prompts may be added
// while clients are connected, and clients request prompts only if they were announced. It
// announces subscriptions only if some server supports them, because clients subscribe to
// everything if it does, and each of these requests would fail.
func endpointCapabilities(ep endpoint, offers []registry.Offer) *mcp.ServerCapabilities {
	all := &mcp.ServerCapabilities{
		Tools:       &mcp.ToolCapabilities{ListChanged: true},
		Prompts:     &mcp.PromptCapabilities{ListChanged: true},
		Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
		Completions: &mcp.CompletionCapabilities{},
		Logging:     &mcp.LoggingCapabilities{},
	}
	if ep.server == "" {
		all.Resources.Subscribe = slices.ContainsFunc(offers, supportsSubscribe)
		return all
	}
	if len(offers) != 1 || offers[0].Catalog == nil {
		return all
	}
	var has struct {
		Tools, Prompts, Completions, Logging json.RawMessage
		Resources                            *struct {
			Subscribe bool `json:"subscribe"`
		}
		Experimental map[string]json.RawMessage `json:"experimental"`
	}
	if json.Unmarshal(offers[0].Catalog.Capabilities, &has) != nil {
		return all
	}
	if has.Tools == nil {
		all.Tools = nil
	}
	if has.Prompts == nil {
		all.Prompts = nil
	}
	if has.Completions == nil {
		all.Completions = nil
	}
	if has.Logging == nil {
		all.Logging = nil
	}
	if has.Resources == nil {
		all.Resources = nil
	} else {
		all.Resources.Subscribe = has.Resources.Subscribe
	}
	all.Experimental = rawValues(has.Experimental)
	return all
}

// supportsSubscribe reports whether a server declares that its resources can be subscribed to.
func supportsSubscribe(o registry.Offer) bool {
	var has struct {
		Resources struct{ Subscribe bool }
	}
	return o.Catalog != nil && json.Unmarshal(o.Catalog.Capabilities, &has) == nil && has.Resources.Subscribe
}
