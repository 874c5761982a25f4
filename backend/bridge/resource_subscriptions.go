package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// subscriptions tracks which clients subscribed to which resource, so that a server gets one
// subscribe for the first client and one unsubscribe after the last.
type subscriptions struct {
	mu          sync.Mutex
	subscribers map[resourceKey]map[*mcp.ServerSession]string // the value is the URI that the client uses
}

// resourceKey is a resource: its server, and the server's own URI.
type resourceKey struct{ server, uri string }

// of returns the subscribers of a resource, with the URIs that they use.
func (s *subscriptions) of(key resourceKey) map[*mcp.ServerSession]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.subscribers[key])
}

// find returns the resource that ss subscribed to under a URI. The URI may resolve to another
// server by now.
func (s *subscriptions) find(uri string, ss *mcp.ServerSession) (resourceKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, all := range s.subscribers {
		if used, ok := all[ss]; ok && used == uri {
			return key, true
		}
	}
	return resourceKey{}, false
}

// add adds a subscriber and reports whether it is the first.
func (s *subscriptions) add(key resourceKey, ss *mcp.ServerSession, public string) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribers == nil {
		s.subscribers = map[resourceKey]map[*mcp.ServerSession]string{}
	}
	if s.subscribers[key] == nil {
		s.subscribers[key] = map[*mcp.ServerSession]string{}
		first = true
	}
	s.subscribers[key][ss] = public
	return first
}

// remove removes a subscriber and reports whether it was the last.
func (s *subscriptions) remove(key resourceKey, ss *mcp.ServerSession) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.subscribers[key][ss]; !ok {
		return false
	}
	delete(s.subscribers[key], ss)
	if len(s.subscribers[key]) > 0 {
		return false
	}
	delete(s.subscribers, key)
	return true
}

// removeSession removes ss from all resources and returns those that have no subscribers left.
func (s *subscriptions) removeSession(ss *mcp.ServerSession) []resourceKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	var free []resourceKey
	for key, all := range s.subscribers {
		if _, ok := all[ss]; !ok {
			continue
		}
		if delete(all, ss); len(all) == 0 {
			delete(s.subscribers, key)
			free = append(free, key)
		}
	}
	return free
}

func (b *Bridge) subscribe(ctx context.Context, r *mcp.SubscribeRequest) error {
	target, ok := b.resolveResource(r.Session, r.Params.URI)
	if !ok {
		return &jsonrpc.Error{Code: codeInvalidParams, Message: "no server has this resource"}
	}
	key := resourceKey{target.Server, target.Name}
	if !b.subscriptions.add(key, r.Session, r.Params.URI) {
		return nil
	}
	if err := b.sendSubscription(ctx, "resources/subscribe", key, r.Session); err != nil {
		b.subscriptions.remove(key, r.Session)
		return err
	}
	return nil
}

func (b *Bridge) unsubscribe(ctx context.Context, r *mcp.UnsubscribeRequest) error {
	key, ok := b.subscriptions.find(r.Params.URI, r.Session)
	if !ok || !b.subscriptions.remove(key, r.Session) {
		return nil
	}
	// Notify the server even if the client disconnects now.
	return b.sendSubscription(context.WithoutCancel(ctx), "resources/unsubscribe", key, r.Session)
}

// unsubscribeAll ends the subscriptions of a session that has ended.
func (b *Bridge) unsubscribeAll(ss *mcp.ServerSession) {
	for _, key := range b.subscriptions.removeSession(ss) {
		_ = b.sendSubscription(b.lifetime, "resources/unsubscribe", key, ss)
	}
}

// sendSubscription sends resources/subscribe or resources/unsubscribe to a server. It is recorded
// as a call of the client that caused it. Both methods exist in the legacy era only.
func (b *Bridge) sendSubscription(ctx context.Context, method string, key resourceKey, ss *mcp.ServerSession) error {
	params := append(wire.AppendString([]byte(`{"uri":`), key.uri), '}')
	now := b.Now()
	call := &core.Call{
		At: now.UTC(), Began: now, Era: core.Legacy, Server: key.server, Method: method,
		Client: b.sessions.client(ss.ID()), Session: ss.ID(),
		Name: key.uri, PublicName: key.uri, Params: params, BytesIn: len(params),
	}
	reply, err := b.Gateway.Call(ctx, call, discardSink{})
	if err != nil {
		_, rpcErr := localError(method, "", key.uri, core.Legacy, err)
		return rpcErr.sdk()
	}
	if len(reply.Error) > 0 {
		return upstreamError(reply.Error, core.Legacy).sdk()
	}
	return nil
}

// ResourceUpdated forwards notifications/resources/updated to the subscribers. params is raw. It
// does not block. A subscriber is notified only if its URI still leads to the resource.
func (b *Bridge) ResourceUpdated(server string, params json.RawMessage) {
	var p struct{ URI string }
	if json.Unmarshal(params, &p) != nil {
		return
	}
	for ss, public := range b.subscriptions.of(resourceKey{server, p.URI}) {
		target, ok := b.resolveResource(ss, public)
		l := b.listeners.find(ss)
		if !ok || l == nil || target.Server != server || target.Name != p.URI {
			continue
		}
		update := []byte(params)
		if public != p.URI {
			update = withPublicURI(params, public)
		}
		l.mu.Lock()
		if l.stream != nil {
			l.enqueue(b, public, "notifications/resources/updated", update)
		}
		l.mu.Unlock()
	}
}

// resolveResource returns the server and the URI that a URI currently resolves to for a listener.
func (b *Bridge) resolveResource(ss *mcp.ServerSession, uri string) (registry.Target, bool) {
	l := b.listeners.find(ss)
	if l == nil {
		return registry.Target{}, false
	}
	ep, refusal := b.authorizeEndpoint(l.endpoint, l.currentOrigin())
	if refusal != "" {
		return registry.Target{}, false
	}
	return b.view(ep, "").Resource(uri)
}
