package bridge

import (
	"context"
	"encoding/json"
	"slices"
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
	subscribers map[resourceKey]map[*mcp.ServerSession]bool
	// notifying holds the updates that are being sent, by URI. Two servers may offer the same
	// URI and a notification does not name the server, so their updates are sent in turn.
	notifying map[string]*updateQueue
}

// updateQueue holds the server whose update of a URI is being sent, and the updates that are queued
// behind it.
type updateQueue struct {
	sending string
	queued  []queuedUpdate // at most one per server
}

type queuedUpdate struct {
	server string
	params *mcp.ResourceUpdatedNotificationParams
}

type resourceKey struct{ server, uri string }

// beginUpdate reports whether the caller must notify the subscribers. If so, it must call
// nextUpdate and notify until nextUpdate returns nil.
func (s *subscriptions) beginUpdate(server string, params *mcp.ResourceUpdatedNotificationParams) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subscribers[resourceKey{server, params.URI}]) == 0 {
		return false
	}
	if queue := s.notifying[params.URI]; queue != nil {
		next := queuedUpdate{server, params}
		if i := slices.IndexFunc(queue.queued, func(u queuedUpdate) bool { return u.server == server }); i >= 0 {
			queue.queued[i] = next // only the newest update counts
		} else {
			queue.queued = append(queue.queued, next)
		}
		return false
	}
	if s.notifying == nil {
		s.notifying = map[string]*updateQueue{}
	}
	s.notifying[params.URI] = &updateQueue{sending: server}
	return true
}

// nextUpdate ends the current update and returns the one that the caller must send next, or nil.
func (s *subscriptions) nextUpdate(uri string) *mcp.ResourceUpdatedNotificationParams {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.notifying[uri]
	if len(queue.queued) == 0 {
		delete(s.notifying, uri)
		return nil
	}
	next := queue.queued[0]
	queue.sending, queue.queued = next.server, queue.queued[1:]
	return next.params
}

// isNotifying reports whether an update of a resource is being sent.
func (s *subscriptions) isNotifying(key resourceKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.notifying[key.uri]
	return queue != nil && queue.sending == key.server
}

// find returns the resource that ss subscribed to under a URI. The URI may resolve to another
// server by now.
func (s *subscriptions) find(uri string, ss *mcp.ServerSession) (resourceKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, all := range s.subscribers {
		if key.uri == uri && all[ss] {
			return key, true
		}
	}
	return resourceKey{}, false
}

// add adds a subscriber and reports whether it is the first.
func (s *subscriptions) add(key resourceKey, ss *mcp.ServerSession) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribers == nil {
		s.subscribers = map[resourceKey]map[*mcp.ServerSession]bool{}
	}
	if s.subscribers[key] == nil {
		s.subscribers[key] = map[*mcp.ServerSession]bool{}
		first = true
	}
	s.subscribers[key][ss] = true
	return first
}

// remove removes a subscriber and reports whether it was the last.
func (s *subscriptions) remove(key resourceKey, ss *mcp.ServerSession) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.subscribers[key][ss] {
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
		if !all[ss] {
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
	key := resourceKey{target.Server, r.Params.URI}
	if !b.subscriptions.add(key, r.Session) {
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
// does not block: a slow client can delay other subscribers of the same resource, but not the
// server. Updates that arrive meanwhile are combined.
func (b *Bridge) ResourceUpdated(ctx context.Context, server string, params json.RawMessage) {
	var p mcp.ResourceUpdatedNotificationParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	if !b.subscriptions.beginUpdate(server, &p) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	b.runInBackground(func() {
		for next := &p; next != nil; next = b.subscriptions.nextUpdate(p.URI) {
			b.notifySubscribers(ctx, next)
		}
	})
}

func (b *Bridge) notifySubscribers(ctx context.Context, p *mcp.ResourceUpdatedNotificationParams) {
	b.mu.Lock()
	servers := make([]*endpointServer, 0, len(b.servers))
	for _, e := range b.servers {
		servers = append(servers, e)
	}
	b.mu.Unlock()
	for _, e := range servers {
		_ = e.sdk.ResourceUpdated(ctx, p) // filterOutgoing drops it for clients that did not subscribe to this server
	}
}

// resolveResource returns the server and the URI that a URI currently resolves to for a listener.
func (b *Bridge) resolveResource(ss *mcp.ServerSession, uri string) (registry.Target, bool) {
	l := b.listeners.find(ss)
	if l == nil {
		return registry.Target{}, false
	}
	ep, refusal := b.authorizeEndpoint(l.endpoint, l.origin)
	if refusal != "" {
		return registry.Target{}, false
	}
	return b.view(ep, "").Resource(uri)
}
