package bridge

import (
	"context"
	"hash/maphash"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Visibility defines what each client may see, in addition to the endpoint that it calls. The zero
// value shows everything to every client.
type Visibility struct {
	Clients  map[string]ClientVisibility // by token name
	Profiles map[string]ProfileVisibility
	// Unknown is the reason why the visibility could not be determined, or "". If it is set, no
	// client sees anything.
	Unknown string
	// ProfileOf returns the profile that is bound to the working folder of a shim, or "".
	ProfileOf func(folder string) string
}

// ClientVisibility is what one client sees.
type ClientVisibility struct {
	Profile  string // the only profile that it may use; "" for no restriction
	ToolMode string // ToolsSearch or ToolsDeferred; "" for that of the profile
}

// ProfileVisibility is how the tools of a profile are listed.
type ProfileVisibility struct{ ToolMode string }

// The alternatives to listing all tools.
const (
	ToolsSearch   = "search"
	ToolsDeferred = "deferred"
)

// SetVisibility replaces the visibility and notifies the clients whose lists change. The
// registry must know the profiles already.
func (b *Bridge) SetVisibility(r Visibility) {
	b.visibility.Store(&r)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.servers {
		e.announceChanges([]core.Kind{core.Tools, core.Prompts, core.Resources})
	}
}

// HasVisibility reports whether r equals the current visibility. ProfileOf is not compared, because
// it is evaluated for each request.
func (b *Bridge) HasVisibility(r Visibility) bool {
	now := b.visibility.Load()
	return now != nil && now.Unknown == r.Unknown && maps.Equal(now.Clients, r.Clients) && maps.Equal(now.Profiles, r.Profiles)
}

// authorizeEndpoint returns the endpoint with the restrictions of the request. They depend on the
// token, the path and the folder of the shim, all of which come with every request, and not on the
// connection or on earlier requests. refusal is the reason why the client may not use the path, or
// "".
func (b *Bridge) authorizeEndpoint(at endpoint, from requestOrigin) (_ endpoint, refusal string) {
	reach := b.visibility.Load()
	if reach == nil {
		at.scope = at.profile
		return at, ""
	}
	client := reach.Clients[from.token]
	switch {
	case reach.Unknown != "":
		return at, reach.Unknown
	case client.Profile != "" && !b.Registry.HasProfile(client.Profile):
		return at, `the profile "` + client.Profile + `" of this client is gone: choose another one for it on the page Clients of Drawbridge, or under 'clients' in the configuration`
	case client.Profile != "" && at.profile != "" && at.profile != client.Profile:
		return at, `this client may use the profile "` + client.Profile + `" alone`
	case client.Profile != "":
		at.scope = client.Profile
		if _, in := b.Registry.ProfileServer(at.scope, at.server); at.server != "" && !in {
			return at, `the profile "` + client.Profile + `" of this client has no such server`
		}
	case at.profile != "":
		at.scope = at.profile
	case at.server == "" && from.workspace != "" && reach.ProfileOf != nil:
		at.scope = reach.ProfileOf(from.workspace)
	}
	if at.server == "" {
		at.mode = client.ToolMode
		if at.mode == "" && at.scope != "" {
			at.mode = reach.Profiles[at.scope].ToolMode
		}
		if at.mode != ToolsSearch && at.mode != ToolsDeferred {
			at.mode = ""
		}
	}
	return at, ""
}

// unscoped returns the endpoint without the restrictions of a client.
func (at endpoint) unscoped() endpoint {
	return endpoint{path: at.path, server: at.server, profile: at.profile, scope: at.profile}
}

// profileView returns the view of a request that is limited to a profile. The view of a profile
// that no longer exists is empty.
func (b *Bridge) profileView(at endpoint, limit int) *registry.View {
	v, ok := b.Registry.Profile(at.scope, limit)
	if at.server != "" {
		v, ok = b.Registry.ProfileServer(at.scope, at.server)
	}
	if !ok {
		return b.nothing
	}
	return v
}

// listener receives notifications that belong to no request: a legacy session, or a stream
// that a modern client holds open.
type listener struct {
	at   endpoint // as the client requested it, before the visibility is applied
	from requestOrigin

	mu       sync.Mutex
	lastSent map[string]revision // by notification
}

// revision identifies a state of a list.
type revision struct{ list, touches uint64 }

// listeners holds all current listeners. The zero value is ready to use.
type listeners struct {
	mu sync.Mutex
	by map[*mcp.ServerSession]*listener
}

func (l *listeners) add(ss *mcp.ServerSession, who *listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[*mcp.ServerSession]*listener{}
	}
	l.by[ss] = who
}

func (l *listeners) drop(ss *mcp.ServerSession) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.by, ss)
}

func (l *listeners) find(ss *mcp.ServerSession) *listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by[ss]
}

// addListener adds a listener, with the current revisions of its lists.
func (b *Bridge) addListener(ss *mcp.ServerSession, at endpoint, from requestOrigin) {
	who := &listener{at: at.unscoped(), from: from, lastSent: map[string]revision{}}
	for method := range changeNotices {
		who.lastSent[method] = b.revision(who, method)
	}
	b.listeners.add(ss, who)
}

// changeNotices are the list_changed notifications, each with the kinds that it announces.
var changeNotices = map[string][]core.Kind{
	"notifications/tools/list_changed":     {core.Tools},
	"notifications/prompts/list_changed":   {core.Prompts},
	"notifications/resources/list_changed": {core.Resources, core.Templates},
}

var revisionSeed = maphash.MakeSeed()

// revision returns the current revision of a listener's list. For a listener that is limited to
// a profile, changes outside of the profile do not change the revision.
func (b *Bridge) revision(who *listener, method string) revision {
	at, refusal := b.authorizeEndpoint(who.at, who.from)
	if refusal != "" {
		return revision{}
	}
	var hash maphash.Hash
	hash.SetSeed(revisionSeed)
	var r revision
	view := b.view(at, who.from.token)
	for _, kind := range changeNotices[method] {
		_, _ = hash.Write(b.listResult(at, view, kind))
		if at.scope == "" {
			r.touches += b.changeCounts[registry.IndexOf(kind)].Load()
		}
	}
	r.list = hash.Sum64()
	return r
}

// changeCounts counts the announced changes of each kind.
type changeCounts [registry.Kinds]atomic.Uint64

// filterOutgoing drops the notifications about what a listener may not see, and list_changed if
// its own lists have not changed.
func (b *Bridge) filterOutgoing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "notifications/") && !b.mayReceive(method, req) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

func (b *Bridge) mayReceive(method string, req mcp.Request) bool {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return true
	}
	_, lists := changeNotices[method]
	updated, isUpdate := req.GetParams().(*mcp.ResourceUpdatedNotificationParams)
	if !lists && !isUpdate {
		return true
	}
	if isUpdate {
		// Two servers may offer the same URI, and each listener sees one of them.
		t, ok := b.resolveResource(ss, updated.URI)
		return ok && b.subscribed.isNotifying(resourceKey{t.Server, updated.URI})
	}
	who := b.listeners.find(ss)
	if who == nil {
		return false // the session has ended, or is not initialized
	}
	now := b.revision(who, method)
	who.mu.Lock()
	defer who.mu.Unlock()
	if who.lastSent[method] == now {
		return false
	}
	who.lastSent[method] = now
	return true
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
