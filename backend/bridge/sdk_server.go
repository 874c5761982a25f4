package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endpointServer holds the go-sdk servers of one endpoint, shared by both eras and all sessions.
// Our middleware handles the requests.
type endpointServer struct {
	endpoint endpoint
	sdk      *mcp.Server // has no tools
	// validator returns the server for modern calls. It has the tools whose arguments go-sdk must
	// compare with headers. It is not used for a tool that the client does not see, because the
	// comparison would reveal that the tool exists.
	validator func() *mcp.Server

	mu          sync.Mutex
	view        *registry.View  // the view that headerTools was built from
	nameLimits  map[int]bool    // name limits of the clients whose tool names are in headerTools
	headerTools map[string]bool // tools whose schema maps arguments to headers
}

// endpointServer returns the server of an endpoint, and creates it on first use.
func (b *Bridge) endpointServer(ep endpoint) *endpointServer {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.servers[ep.path]
	if e != nil {
		return e
	}
	e = &endpointServer{endpoint: ep.unscoped()}
	e.sdk = b.newSDKServer(e, true)
	e.validator = sync.OnceValue(func() *mcp.Server { return b.newSDKServer(e, false) })
	b.servers[ep.path] = e
	return e
}

// newSDKServer creates a go-sdk server of an endpoint. announces reports whether its clients may
// request list_changed, which ListChanged sends.
func (b *Bridge) newSDKServer(e *endpointServer, announces bool) *mcp.Server {
	version := b.Version
	if version == "" {
		version = "dev"
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "drawbridge", Title: "Drawbridge", Version: version}, &mcp.ServerOptions{
		GetSessionID: rand.Text,
		Capabilities: &mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: announces},
			Prompts:     &mcp.PromptCapabilities{ListChanged: announces},
			Resources:   &mcp.ResourceCapabilities{ListChanged: announces, Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Logging:     &mcp.LoggingCapabilities{},
		},
		SubscribeHandler:   func(ctx context.Context, r *mcp.SubscribeRequest) error { return b.subscribe(ctx, r) },
		UnsubscribeHandler: func(ctx context.Context, r *mcp.UnsubscribeRequest) error { return b.unsubscribe(ctx, r) },
	})
	server.AddReceivingMiddleware(b.middleware(e))
	return server
}

// sdkServerFor returns the go-sdk server that handles a request.
func (b *Bridge) sdkServerFor(x *exchange) *mcp.Server {
	e := b.endpointServer(x.endpoint)
	if x.era == core.Modern && x.message != nil && x.env.Method == "tools/call" {
		name, ok := wire.Unquote(wire.Bytes(x.rawParams(), x.params.Name))
		if !ok || !b.isHiddenByProfile(x, name) {
			return e.validator()
		}
	}
	return e.sdk
}

// requiresHeaders reports whether the schema of a tool maps arguments to headers, and registers the
// tools that do with go-sdk. name is the public name.
func (b *Bridge) requiresHeaders(e *endpointServer, token, name string) bool {
	limit := b.nameLimit(e.endpoint, token)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := b.viewWithLimit(e.endpoint, 0); e.view != now || !e.nameLimits[limit] {
		if e.nameLimits == nil {
			e.nameLimits = map[int]bool{}
		}
		e.view, e.nameLimits[limit] = now, true
		var items []registry.Item
		for limit := range e.nameLimits {
			items = append(items, b.viewWithLimit(e.endpoint, limit).Items(core.Tools)...)
		}
		e.registerTools(items)
	}
	return e.headerTools[name]
}

// isHiddenByProfile reports whether a profile hides the tool that a client calls. go-sdk would
// still validate the headers of the tool, which would reveal that it exists.
func (b *Bridge) isHiddenByProfile(x *exchange, name string) bool {
	if x.endpoint.scope == "" {
		return false
	}
	_, sees := b.view(x.endpoint, x.origin.token).Lookup(core.Tools, name)
	return !sees
}

var paramHeaderMark = []byte(`"x-mcp-header"`)

// registerTools must be called with e.mu held.
func (e *endpointServer) registerTools(tools []registry.Item) {
	old := e.headerTools
	e.headerTools = map[string]bool{}
	for _, item := range tools {
		if e.headerTools[item.Public] || !bytes.Contains(item.Raw, paramHeaderMark) {
			continue
		}
		var t struct {
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(item.Raw, &t) == nil && e.addTool(item.Public, t.InputSchema) == nil {
			e.headerTools[item.Public] = true
		}
	}
	for name := range old {
		if !e.headerTools[name] {
			e.validator().RemoveTools(name)
		}
	}
}

// addTool registers a tool with the SDK. The SDK panics on a schema that it cannot handle; such a
// tool is still listed and called, but its headers are not validated.
func (e *endpointServer) addTool(name string, schema json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot register tool %q: %v", name, p)
		}
	}()
	e.validator().AddTool(&mcp.Tool{Name: name, InputSchema: schema}, nil)
	return nil
}

// maxInitializeParams bounds the params of initialize in bytes, because the session keeps them.
const maxInitializeParams = 256 << 10

const tooManySessions = "this client has too many open sessions: end one first"

// initialize lets the SDK open a session and adds it to the session table.
func (b *Bridge) initialize(ctx context.Context, method string, req mcp.Request, x *exchange, e *endpointServer, next mcp.MethodHandler) (mcp.Result, error) {
	if x != nil && x.message != nil && len(x.rawParams()) > maxInitializeParams {
		return nil, newError(codeInvalidParams, "the params of initialize are larger than "+core.FormatLimit(maxInitializeParams)).sdk()
	}
	if e.endpoint.server != "" {
		b.Lister.WaitListed(ctx, e.endpoint.server)
	}
	res, err := next(ctx, method, req)
	if err != nil {
		return nil, err
	}
	result, ok := res.(*mcp.InitializeResult)
	ss, isServer := req.GetSession().(*mcp.ServerSession)
	if !ok || !isServer || x == nil || x.message == nil || x.env.Kind != wire.Request {
		return nil, &jsonrpc.Error{Code: codeInvalidRequest, Message: "initialize must not be part of a batch"}
	}
	offers := b.view(x.endpoint, "").Offers()
	result.Capabilities = endpointCapabilities(result.Capabilities, x.endpoint, offers)
	result.Capabilities.Extensions = sharedExtensions(core.Legacy, wire.Bytes(x.rawParams(), x.params.InitCapabilities), offers)
	result.Instructions = endpointInstructions(x.endpoint, offers)

	raw := bytes.Clone(x.rawParams()) // the session outlives the body
	s := &session{
		id: ss.ID(), token: x.origin.token, endpoint: x.endpoint.path, sdk: ss, lastUsed: b.Now(), shim: x.origin.shim,
		client:  parseClientInfo(x.origin.token, wire.Bytes(raw, x.params.InitInfo)),
		version: result.ProtocolVersion, initialize: raw,
		capabilities: withoutTasks(wire.Bytes(raw, x.params.InitCapabilities)),
	}
	s.parsedCapabilities = parseClientCapabilities(s.capabilities)
	b.recordClient(s.client, core.Legacy, s.version, s.capabilities)
	s.ctx, s.cancel = context.WithCancelCause(b.lifetime)
	b.addListener(ss, x, s, nil, nil)
	evicted, ok := b.sessions.add(s)
	if !ok {
		s.cancel(errSessionEnded)
		b.listeners.remove(ss)
		b.runInBackground(func() {
			<-x.done // closing the session earlier would discard the response
			_ = ss.Close()
		})
		return nil, &jsonrpc.Error{Code: codeRefused, Message: tooManySessions}
	}
	if evicted != nil {
		b.endSession(evicted, "too many sessions of this client")
	}
	if tasks := legacyTasks(x.endpoint, offers); tasks != nil && s.version >= firstWithTasks {
		return &initializeResult{result, tasks}, nil
	}
	return result, nil
}

// initializeResult is an mcp.InitializeResult with a capability that go-sdk does not know.
type initializeResult struct {
	*mcp.InitializeResult
	tasks []byte // raw
}

// MarshalJSON implements json.Marshaler.
func (r *initializeResult) MarshalJSON() ([]byte, error) {
	raw, err := json.Marshal(r.InitializeResult)
	if err != nil {
		return nil, err
	}
	found, err := wire.Pick(raw, "capabilities")
	if err != nil {
		return nil, err
	}
	capabilities := found[0]
	return wire.Splice(nil, raw, insertMember(capabilities.Start, wire.Bytes(raw, capabilities), append([]byte(`"tasks":`), r.tasks...))), nil
}

func (b *Bridge) discover(ctx context.Context, method string, req mcp.Request, x *exchange, e *endpointServer, next mcp.MethodHandler) (mcp.Result, error) {
	if x == nil {
		return nil, newError(codeRefused, "the client has disconnected").sdk()
	}
	if e.endpoint.server != "" {
		b.Lister.WaitListed(ctx, e.endpoint.server)
	}
	res, err := next(ctx, method, req)
	if result, ok := res.(*mcp.DiscoverResult); ok && err == nil {
		offers := b.view(x.endpoint, "").Offers()
		result.Capabilities = endpointCapabilities(result.Capabilities, x.endpoint, offers)
		result.Capabilities.Extensions = sharedExtensions(core.Modern, wire.Bytes(x.rawParams(), x.params.ClientCapabilities), offers)
		result.Instructions = endpointInstructions(x.endpoint, offers)
		result.CacheScope = "private" // it depends on the client and its profile
	}
	return res, err
}

// endpointCapabilities narrows the capabilities of the bridge to those of the server behind an
// endpoint. The aggregate endpoint keeps all lists, because a server with prompts may be added
// while clients are connected, and clients request prompts only if they were announced. It
// announces subscriptions only if some server supports them, because clients subscribe to
// everything if it does, and each of these requests would fail.
func endpointCapabilities(all *mcp.ServerCapabilities, ep endpoint, offers []registry.Offer) *mcp.ServerCapabilities {
	if ep.server == "" {
		if all.Resources != nil {
			all.Resources.Subscribe = slices.ContainsFunc(offers, supportsSubscribe)
		}
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
	} else if all.Resources != nil {
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

// endpointInstructions returns the instructions of the servers: unchanged for one server, with a
// heading for each server at the aggregate endpoint.
func endpointInstructions(ep endpoint, offers []registry.Offer) string {
	var text strings.Builder
	for _, o := range offers {
		if o.Catalog == nil || strings.TrimSpace(o.Catalog.Instructions) == "" {
			continue
		}
		if ep.server != "" {
			return o.Catalog.Instructions
		}
		if text.Len() > 0 {
			text.WriteString("\n\n")
		}
		text.WriteString("# " + o.Server + "\n\n" + strings.TrimSpace(o.Catalog.Instructions))
	}
	return text.String()
}

// newSDKHandlers creates the go-sdk handlers, one for each era. Their sessions do not time out,
// because the SDK does not see the fast path; idle sessions are closed by Run. Host and body size
// are checked before the handlers.
func (b *Bridge) newSDKHandlers() (stateful, stateless *mcp.StreamableHTTPHandler) {
	server := func(r *http.Request) *mcp.Server {
		x := b.exchangeByTicket(r.Header)
		if x == nil {
			return nil
		}
		return b.sdkServerFor(x)
	}
	stateful = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
	})
	stateless = mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{
		DisableLocalhostProtection: true, MaxRequestBodyBytes: -1,
		Stateless: true, PropagateRequestCancellation: true,
	})
	return stateful, stateless
}

// serveSDK lets go-sdk serve a request: it validates what the fast path does not, and handles the
// methods that dispatch does not.
func (b *Bridge) serveSDK(w http.ResponseWriter, x *exchange) {
	x.response = b.newResponseWriter(w, true)
	defer x.response.end()
	b.inFlight.add(x.response, func(error) {}) // go-sdk ends with its session or its listener
	defer b.inFlight.remove(x.response)
	over := make(chan struct{})
	defer close(over)
	x.done = over
	ticket := b.nonce + strconv.FormatUint(b.lastTicket.Add(1), 36)
	b.exchanges.Store(ticket, x)
	defer b.exchanges.Delete(ticket)
	x.request.Header.Set(ticketHeader, ticket)
	writer := &sdkWriter{responseWriter: x.response, exchange: x, bridge: b}
	if x.message != nil {
		body := x.body
		if x.env.Kind == wire.Request {
			writer.id = x.id()
			if !sdkPreservesID(writer.id) {
				body, writer.substituteID = x.substituteID(ticket)
			}
		}
		x.request.Body = io.NopCloser(bytes.NewReader(body))
		x.request.ContentLength = int64(len(body))
	}
	if x.era == core.Modern {
		b.modernHandler.ServeHTTP(writer, x.request)
	} else {
		b.legacyHandler.ServeHTTP(writer, x.request)
	}
}

func (b *Bridge) exchangeByTicket(header http.Header) *exchange {
	x, _ := b.exchanges.Load(header.Get(ticketHeader))
	found, _ := x.(*exchange)
	return found
}

// middleware returns the go-sdk middleware that receives every message of an endpoint.
func (b *Bridge) middleware(e *endpointServer) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				// go-sdk calls the middleware in a separate goroutine, where a panic would end the
				// process.
				if p := recover(); p != nil {
					b.Log.Error("Panic while handling a request", "method", method, "panic", p, "stack", string(debug.Stack()))
					res, err = nil, &jsonrpc.Error{Code: codeInternal, Message: "internal error. See the log for details: drawbridge logs"}
				}
			}()
			var x *exchange
			if extra := req.GetExtra(); extra != nil && extra.Header != nil {
				x = b.exchangeByTicket(extra.Header)
			}
			switch {
			case isBridgeMethod(method):
				// The method of the exchange differs if go-sdk decodes the message differently.
				if x == nil || x.message == nil || x.env.Kind != wire.Request || x.env.Method != method {
					return nil, newError(codeRefused, "the client has disconnected").sdk()
				}
				x.response.takeFromSDK()
				b.serveRequest(x)
				return &alreadyAnsweredResult{}, nil
			case method == "initialize":
				return b.initialize(ctx, method, req, x, e, next)
			case method == "server/discover":
				if x != nil && x.message != nil && x.era == core.Modern {
					rq := b.newRequest(x)
					b.modern.begin(rq, b.Now())
					b.recordModernClient(rq)
				}
				return b.discover(ctx, method, req, x, e, next)
			case method == "subscriptions/listen":
				return b.listen(ctx, method, req, x, next)
			}
			if p, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok {
				level := string(p.Level)
				if severities[level] == 0 {
					return nil, newError(codeInvalidParams, "the log level is unknown").sdk()
				}
				if x != nil && x.session != nil {
					x.session.level.Store(&level)
				}
			}
			return next(ctx, method, req)
		}
	}
}

// alreadyAnsweredResult is the result of a request whose response was already written. sdkWriter
// drops it.
type alreadyAnsweredResult struct{ mcp.ResultBase }

// listen registers the listener of subscriptions/listen until the request ends.
func (b *Bridge) listen(ctx context.Context, method string, req mcp.Request, x *exchange, next mcp.MethodHandler) (mcp.Result, error) {
	ss, isServer := req.GetSession().(*mcp.ServerSession)
	params, isListen := req.GetParams().(*mcp.SubscriptionsListenParams)
	if !isServer || !isListen || x == nil {
		return nil, newError(codeRefused, "the client has disconnected").sdk()
	}
	rq := b.newRequest(x)
	tasks := b.requestedTasks(rq)
	x.listener = b.addListener(ss, x, nil, params, tasks)
	defer b.listeners.remove(ss)
	// Cancelling this context lets the SDK send the final response; closing its session would not.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(b.lifetime, func() { cancel(errStopped) })()
	if params.Notifications != nil {
		defer b.unsubscribeAll(ss)
		params.Notifications.ResourceSubscriptions = b.subscribeToAll(ctx, ss, params.Notifications.ResourceSubscriptions)
	}
	if len(tasks) > 0 {
		return b.serveTaskSubscriptions(ctx, x, rq, params.Notifications, tasks)
	}
	return next(ctx, method, req)
}

// sdkWriter lets go-sdk write through a responseWriter. Comments are sent only after a stream
// has begun, because until then the SDK may still set a status. If the SDK refuses a
// message with plain text, the client gets a JSON-RPC error, with the id of its request if it has one.
type sdkWriter struct {
	*responseWriter
	exchange      *exchange
	bridge        *Bridge
	id            []byte // of the request; nil if it has none
	substituteID  []byte // the id that go-sdk was given instead of id; nil if it was given id
	refusedStatus int    // status of a plain-text refusal that the SDK is about to write
}

func (sw *sdkWriter) Header() http.Header { return sw.w.Header() }

func (sw *sdkWriter) WriteHeader(status int) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	switch {
	case sw.ended || sw.streaming:
	case status >= 400 && strings.HasPrefix(sw.w.Header().Get("Content-Type"), "text/plain"):
		sw.refusedStatus = status
	default:
		sw.beginStreamIfEvents(status)
		sw.w.WriteHeader(status)
	}
}

func (sw *sdkWriter) beginStreamIfEvents(status int) {
	if sw.streaming || status != http.StatusOK || sw.w.Header().Get("Content-Type") != "text/event-stream" {
		return
	}
	sw.streaming = true
	setStreamHeaders(sw.w.Header())
}

// Write implements http.ResponseWriter. It drops what follows the response that serveRequest has
// written. A listener gets its notifications after the first write, which acknowledges its request.
func (sw *sdkWriter) Write(p []byte) (int, error) {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.ended {
		return len(p), nil
	}
	out := p
	if sw.refusedStatus != 0 {
		sw.w.Header()["Content-Type"] = jsonType
		sw.w.Header().Del("Content-Length")
		sw.w.WriteHeader(sw.refusedStatus)
		sw.refusedStatus = 0
		out = wire.AppendError(nil, sw.id, codeInvalidRequest, strings.TrimSpace(string(p)), nil)
	} else {
		sw.beginStreamIfEvents(http.StatusOK)
		out = sw.withoutSDKTypes(p)
	}
	if sw.substituteID != nil {
		out = bytes.ReplaceAll(out, sw.substituteID, sw.id)
	}
	if sw.write(out); sw.writeErr != nil {
		return 0, sw.writeErr
	}
	if sw.streaming && sw.exchange.listener != nil {
		sw.bridge.attachStream(sw.exchange.listener, sw.responseWriter)
	}
	return len(p), nil
}

// FlushError implements the flush of http.ResponseController.
func (sw *sdkWriter) FlushError() error {
	sw.mu.Lock()
	defer sw.mu.Unlock()
	if sw.ended {
		return nil
	}
	sw.flush()
	return sw.writeErr
}

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
