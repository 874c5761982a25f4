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
	mu sync.Mutex
	by map[resourceKey]map[*mcp.ServerSession]bool
	// notifying holds the updates that are being sent, by URI. Two servers may offer the same
	// URI and a notification does not name the server, so their updates are sent in turn.
	notifying map[string]*turn
}

// turn is the server whose update of a URI is being sent, with the updates that are queued behind
// it.
type turn struct {
	server string
	next   []update // at most one per server
}

type update struct {
	server string
	params *mcp.ResourceUpdatedNotificationParams
}

type resourceKey struct{ server, uri string }

// updated reports whether the caller must notify the subscribers. If so, it must call finishTurn
// and notify until finishTurn returns nil.
func (s *subscriptions) updated(server string, params *mcp.ResourceUpdatedNotificationParams) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.by[resourceKey{server, params.URI}]) == 0 {
		return false
	}
	if now := s.notifying[params.URI]; now != nil {
		next := update{server, params}
		if i := slices.IndexFunc(now.next, func(u update) bool { return u.server == server }); i >= 0 {
			now.next[i] = next // only the newest update counts
		} else {
			now.next = append(now.next, next)
		}
		return false
	}
	if s.notifying == nil {
		s.notifying = map[string]*turn{}
	}
	s.notifying[params.URI] = &turn{server: server}
	return true
}

// finishTurn ends a turn and returns the update that the caller must send next, or nil.
func (s *subscriptions) finishTurn(uri string) *mcp.ResourceUpdatedNotificationParams {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.notifying[uri]
	if len(now.next) == 0 {
		delete(s.notifying, uri)
		return nil
	}
	next := now.next[0]
	now.server, now.next = next.server, now.next[1:]
	return next.params
}

// isNotifying reports whether an update of a resource is being sent.
func (s *subscriptions) isNotifying(key resourceKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.notifying[key.uri]
	return now != nil && now.server == key.server
}

// find returns the resource that who subscribed to under a URI. The URI may resolve to another
// server by now.
func (s *subscriptions) find(uri string, who *mcp.ServerSession) (resourceKey, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, all := range s.by {
		if key.uri == uri && all[who] {
			return key, true
		}
	}
	return resourceKey{}, false
}

// join adds a subscriber and reports whether it is the first.
func (s *subscriptions) join(key resourceKey, who *mcp.ServerSession) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = map[resourceKey]map[*mcp.ServerSession]bool{}
	}
	if s.by[key] == nil {
		s.by[key] = map[*mcp.ServerSession]bool{}
		first = true
	}
	s.by[key][who] = true
	return first
}

// leave removes a subscriber and reports whether it was the last.
func (s *subscriptions) leave(key resourceKey, who *mcp.ServerSession) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.by[key][who] {
		return false
	}
	delete(s.by[key], who)
	if len(s.by[key]) > 0 {
		return false
	}
	delete(s.by, key)
	return true
}

// drop removes who from all resources and returns those that have no subscribers left.
func (s *subscriptions) drop(who *mcp.ServerSession) []resourceKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	var free []resourceKey
	for key, all := range s.by {
		if !all[who] {
			continue
		}
		if delete(all, who); len(all) == 0 {
			delete(s.by, key)
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
	if !b.subscribed.join(key, r.Session) {
		return nil
	}
	if err := b.notifyServer(ctx, "resources/subscribe", key, r.Session); err != nil {
		b.subscribed.leave(key, r.Session)
		return err
	}
	return nil
}

func (b *Bridge) unsubscribe(ctx context.Context, r *mcp.UnsubscribeRequest) error {
	key, ok := b.subscribed.find(r.Params.URI, r.Session)
	if !ok || !b.subscribed.leave(key, r.Session) {
		return nil
	}
	// Notify the server even if the client disconnects now.
	return b.notifyServer(context.WithoutCancel(ctx), "resources/unsubscribe", key, r.Session)
}

// unsubscribeAll ends the subscriptions of a session that has ended.
func (b *Bridge) unsubscribeAll(who *mcp.ServerSession) {
	for _, key := range b.subscribed.drop(who) {
		_ = b.notifyServer(b.ended, "resources/unsubscribe", key, who)
	}
}

// notifyServer sends resources/subscribe or resources/unsubscribe to a server. It is recorded as a
// call of the client that caused it. Both methods exist in the legacy era only.
func (b *Bridge) notifyServer(ctx context.Context, method string, key resourceKey, who *mcp.ServerSession) error {
	params := append(wire.AppendString([]byte(`{"uri":`), key.uri), '}')
	now := b.Now()
	call := &core.Call{
		At: now.UTC(), Began: now, Era: core.Legacy, Server: key.server, Method: method,
		Client: b.sessions.client(who.ID()), Session: who.ID(),
		Name: key.uri, PublicName: key.uri, Params: params, BytesIn: len(params),
	}
	reply, err := b.Gateway.Call(ctx, call, discardSink{})
	if err != nil {
		_, f := localError(method, "", key.uri, core.Legacy, err)
		return f.sdk()
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
	if !b.subscribed.updated(server, &p) {
		return
	}
	ctx = context.WithoutCancel(ctx)
	b.runTracked(func() {
		for next := &p; next != nil; next = b.subscribed.finishTurn(p.URI) {
			b.notifySubscribers(ctx, next)
		}
	})
}

func (b *Bridge) notifySubscribers(ctx context.Context, p *mcp.ResourceUpdatedNotificationParams) {
	b.mu.Lock()
	edges := make([]*endpointServer, 0, len(b.servers))
	for _, e := range b.servers {
		edges = append(edges, e)
	}
	b.mu.Unlock()
	for _, e := range edges {
		_ = e.sdk.ResourceUpdated(ctx, p) // filterOutgoing drops it for clients that did not subscribe to this server
	}
}

// resolveResource returns the server and the URI that a URI currently resolves to for a listener.
func (b *Bridge) resolveResource(ss *mcp.ServerSession, uri string) (registry.Target, bool) {
	who := b.listeners.find(ss)
	if who == nil {
		return registry.Target{}, false
	}
	at, refusal := b.authorizeEndpoint(who.at, who.from)
	if refusal != "" {
		return registry.Target{}, false
	}
	return b.view(at, "").Resource(uri)
}
