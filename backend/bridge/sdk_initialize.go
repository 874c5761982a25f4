package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxInitializeParams bounds the params of initialize in bytes, because the session keeps them.
const maxInitializeParams = 256 << 10

const tooManySessions = "this client has too many open sessions: end one first"

// initialize lets the SDK open a session and adds it to the session table.
func (b *Bridge) initialize(ctx context.Context, method string, req mcp.Request, x *exchange, e *endpointServer, next mcp.MethodHandler) (mcp.Result, error) {
	if x != nil && x.message != nil && len(x.rawParams()) > maxInitializeParams {
		return nil, newError(codeInvalidParams, "the initialize request is too large").sdk()
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
	result.Instructions = endpointInstructions(x.endpoint, offers)

	raw := bytes.Clone(x.rawParams()) // the session outlives the body
	s := &session{
		id: ss.ID(), token: x.origin.token, endpoint: x.endpoint.path, sdk: ss, lastUsed: b.Now(), shim: x.origin.shim,
		client:  parseClientInfo(x.origin.token, wire.Bytes(raw, x.params.InitInfo)),
		version: result.ProtocolVersion, initialize: raw,
		capabilities: wire.Bytes(raw, x.params.InitCapabilities),
	}
	s.parsedCapabilities = parseClientCapabilities(s.capabilities)
	b.clients.record(s.client, core.Legacy, s.version, s.capabilities, s.lastUsed)
	s.ctx, s.cancel = context.WithCancelCause(b.lifetime)
	b.addListener(ss, x.endpoint, x.origin)
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
	return result, nil
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
		result.Instructions = endpointInstructions(x.endpoint, offers)
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
		Experimental map[string]any `json:"experimental"`
		Extensions   map[string]any `json:"extensions"`
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
	all.Experimental, all.Extensions = has.Experimental, has.Extensions
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
