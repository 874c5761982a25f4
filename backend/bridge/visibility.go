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

// Visibility says what clients see, besides the address that they call. The zero value is
// everything.
type Visibility struct {
	Clients  map[string]ClientVisibility // by the name of their token
	Profiles map[string]ProfileVisibility
	// Unknown says why it is not known what clients may see, or is "". Nobody sees
	// anything then.
	Unknown string
	// ProfileOf names the profile of a folder in which a shim was started, or "".
	ProfileOf func(folder string) string
}

// ClientVisibility is what one client sees.
type ClientVisibility struct {
	Profile  string // the only one that it may use; "" for no bound
	ToolMode string // one of ToolsSearch and ToolsDeferred; "" for that of the profile
}

// ProfileVisibility is how a profile is listed.
type ProfileVisibility struct{ ToolMode string }

// The ways to list tools, besides listing them all.
const (
	ToolsSearch   = "search"
	ToolsDeferred = "deferred"
)

// SetVisibility replaces what clients see. Those whose lists differ by it are told; the
// registry must know the profiles already.
func (b *Bridge) SetVisibility(r Visibility) {
	b.visibility.Store(&r)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.servers {
		e.announceChanges([]core.Kind{core.Tools, core.Prompts, core.Resources})
	}
}

// HasVisibility reports whether r says what holds already. Who belongs to a folder does not
// count: that is asked anew for each request.
func (b *Bridge) HasVisibility(r Visibility) bool {
	now := b.visibility.Load()
	return now != nil && now.Unknown == r.Unknown && maps.Equal(now.Clients, r.Clients) && maps.Equal(now.Profiles, r.Profiles)
}

// authorizeEndpoint settles what a request may see: by its token, its address and the folder of
// its shim, each of which comes with every request. What connection it came by, and
// what was asked before, make no difference. It reports false when the address is not
// for this client, and why.
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

// unscoped is what every request to an address has in common.
func (at endpoint) unscoped() endpoint {
	return endpoint{path: at.path, server: at.server, profile: at.profile, scope: at.profile}
}

// profileView is the view of a request that a profile bounds. A profile that has gone
// since holds nothing.
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

// listener is who hears what belongs to no request: a legacy session, or a stream
// that a modern client holds open.
type listener struct {
	at   endpoint // without what the configuration makes of it
	from requestOrigin

	mu       sync.Mutex
	lastSent map[string]revision // by notification
}

// revision tells two states of a list apart.
type revision struct{ list, touches uint64 }

// listeners are those that hear us. Its zero value is ready.
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

// addListener enters a listener, with what it could list at this moment.
func (b *Bridge) addListener(ss *mcp.ServerSession, at endpoint, from requestOrigin) {
	who := &listener{at: at.unscoped(), from: from, lastSent: map[string]revision{}}
	for method := range changeNotices {
		who.lastSent[method] = b.revision(who, method)
	}
	b.listeners.add(ss, who)
}

// changeNotices are the notifications of lists, each with the kinds that it speaks of.
var changeNotices = map[string][]core.Kind{
	"notifications/tools/list_changed":     {core.Tools},
	"notifications/prompts/list_changed":   {core.Prompts},
	"notifications/resources/list_changed": {core.Resources, core.Templates},
}

var revisionSeed = maphash.MakeSeed()

// revision is what a listener could list now. Only the lists count for whoever a
// profile bounds: what happens outside of it is no news there.
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

// changeCounts counts what was announced of each kind.
type changeCounts [registry.Kinds]atomic.Uint64

// filterOutgoing keeps from each listener what it may not see, and list_changed where its
// own lists are as they were.
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
		// Two servers may have one URI, and each listener its own of them.
		t, ok := b.resolveResource(ss, updated.URI)
		return ok && b.subscribed.isNotifying(resourceKey{t.Server, updated.URI})
	}
	who := b.listeners.find(ss)
	if who == nil {
		return false // it is gone, or has not introduced itself
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

// resolveResource is where a resource leads for a listener at this moment.
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
