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

// endpointServer is go-sdk's server of one endpoint, shared by both eras and all sessions. It
// has no features of its own but the tools whose headers it must compare; what it
// is asked is answered by our middleware.
type endpointServer struct {
	at  endpoint
	sdk *mcp.Server
	// blank makes a server without tools: go-sdk compares the headers of a tool also for
	// who does not see it, and so would tell of it.
	blank func() *mcp.Server

	mu      sync.Mutex
	view    *registry.View  // as it was when headers was made
	limits  map[int]bool    // of the clients whose names are among headers
	headers map[string]bool // tools that want arguments repeated in headers
}

// endpointServer returns the endpoint's, which is made when it is first needed.
func (b *Bridge) endpointServer(at endpoint) *endpointServer {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.servers[at.path]
	if e != nil {
		return e
	}
	e = &endpointServer{at: at.unscoped()}
	e.sdk = b.newSDKServer(e)
	e.blank = sync.OnceValue(func() *mcp.Server { return b.newSDKServer(e) })
	b.servers[at.path] = e
	return e
}

// newSDKServer makes go-sdk's server of an endpoint.
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

// sdkServerFor is the server that go-sdk answers a request with.
func (b *Bridge) sdkServerFor(x *exchange) *mcp.Server {
	e := b.endpointServer(x.at)
	if x.era == core.Modern && x.message != nil && x.env.Method == "tools/call" {
		name, ok := wire.Unquote(wire.Bytes(x.rawParams(), x.params.Name))
		if ok && b.outsideProfile(x, name) {
			return e.blank()
		}
	}
	return e.sdk
}

// wantsHeaders reports whether the schema of the tool that a client knows as name asks
// for arguments in headers, and makes sure that go-sdk knows the schemas that do.
func (b *Bridge) wantsHeaders(e *endpointServer, token, name string) bool {
	limit := b.nameLimit(e.at, token)
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := b.viewWithLimit(e.at, 0); e.view != now || !e.limits[limit] {
		if e.limits == nil {
			e.limits = map[int]bool{}
		}
		e.view, e.limits[limit] = now, true
		var items []registry.Item
		for limit := range e.limits {
			items = append(items, b.viewWithLimit(e.at, limit).Items(core.Tools)...)
		}
		e.registerTools(items)
	}
	return e.headers[name]
}

// outsideProfile reports whether a profile keeps a client from the tool that it calls. go-sdk would
// compare the tool's headers all the same, and so tell of it.
func (b *Bridge) outsideProfile(x *exchange, name string) bool {
	if x.at.scope == "" {
		return false
	}
	_, sees := b.view(x.at, x.from.token).Lookup(core.Tools, name)
	return !sees
}

var headerMark = []byte(`"x-mcp-header"`)

// registerTools must be called with e.mu held.
func (e *endpointServer) registerTools(tools []registry.Item) {
	old := e.headers
	e.headers = map[string]bool{}
	for _, item := range tools {
		if e.headers[item.Public] || !bytes.Contains(item.Raw, headerMark) {
			continue
		}
		var t struct {
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(item.Raw, &t) == nil && e.addTool(item.Public, t.InputSchema) == nil {
			e.headers[item.Public] = true
		}
	}
	for name := range old {
		if !e.headers[name] {
			e.sdk.RemoveTools(name)
		}
	}
}

// addTool tells the SDK of a tool. The SDK panics on a schema that it does not like;
// such a tool is still listed and called, only its headers are not compared.
func (e *endpointServer) addTool(name string, schema json.RawMessage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot register tool %q: %v", name, p)
		}
	}()
	e.sdk.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, nil)
	return nil
}

// ListChanged tells every client that sees the changed lists. It neither blocks nor
// reads the registry; app calls it from the registry's OnChange.
func (b *Bridge) ListChanged(c registry.Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range c.Kinds {
		b.changeCounts[registry.IndexOf(kind)].Add(1)
	}
	for _, e := range b.servers {
		if c.Server == "" || e.at.server == "" || e.at.server == c.Server {
			e.announceChanges(c.Kinds)
		}
	}
}

// announceChanges makes the SDK send list_changed. It does so, shortly after and once for
// many, whenever a feature comes or goes; the list itself is never seen.
func (e *endpointServer) announceChanges(kinds []core.Kind) {
	const name, uri = "changed", "drawbridge:changed"
	for _, kind := range kinds {
		switch kind {
		case core.Tools:
			e.sdk.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
			e.sdk.RemoveTools(name)
		case core.Prompts:
			e.sdk.AddPrompt(&mcp.Prompt{Name: name}, nil)
			e.sdk.RemovePrompts(name)
		case core.Resources, core.Templates:
			e.sdk.AddResource(&mcp.Resource{URI: uri, Name: name}, nil)
			e.sdk.RemoveResources(uri)
		}
	}
}
