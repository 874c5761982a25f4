package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
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
