package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// endpointServer is the go-sdk server of one endpoint, shared by both eras and all sessions. Our
// middleware handles the requests; only tools whose header parameters go-sdk must validate are
// registered with it.
type endpointServer struct {
	endpoint endpoint
	sdk      *mcp.Server
	// withoutTools returns a server without tools. go-sdk validates the headers of a tool even for
	// clients that do not see the tool, which would reveal that it exists.
	withoutTools func() *mcp.Server

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
	e.sdk = b.newSDKServer(e)
	e.withoutTools = sync.OnceValue(func() *mcp.Server { return b.newSDKServer(e) })
	b.servers[ep.path] = e
	return e
}

// newSDKServer creates the go-sdk server of an endpoint.
func (b *Bridge) newSDKServer(e *endpointServer) *mcp.Server {
	version := b.Version
	if version == "" {
		version = "dev"
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "drawbridge", Title: "Drawbridge", Version: version}, &mcp.ServerOptions{
		GetSessionID: rand.Text,
		Capabilities: &mcp.ServerCapabilities{
			Tools:       &mcp.ToolCapabilities{ListChanged: true},
			Prompts:     &mcp.PromptCapabilities{ListChanged: true},
			Resources:   &mcp.ResourceCapabilities{ListChanged: true, Subscribe: true},
			Completions: &mcp.CompletionCapabilities{},
			Logging:     &mcp.LoggingCapabilities{},
		},
		SubscribeHandler:   func(ctx context.Context, r *mcp.SubscribeRequest) error { return b.subscribe(ctx, r) },
		UnsubscribeHandler: func(ctx context.Context, r *mcp.UnsubscribeRequest) error { return b.unsubscribe(ctx, r) },
	})
	server.AddReceivingMiddleware(b.middleware(e))
	server.AddSendingMiddleware(b.filterOutgoing)
	return server
}

// sdkServerFor returns the go-sdk server that handles a request.
func (b *Bridge) sdkServerFor(x *exchange) *mcp.Server {
	e := b.endpointServer(x.endpoint)
	if x.era == core.Modern && x.message != nil && x.env.Method == "tools/call" {
		name, ok := wire.Unquote(wire.Bytes(x.rawParams(), x.params.Name))
		if ok && b.isHiddenByProfile(x, name) {
			return e.withoutTools()
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
			e.sdk.RemoveTools(name)
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
	e.sdk.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, nil)
	return nil
}
