package bridge

import (
	"context"
	"encoding/json"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ListChanged notifies every client that sees the changed lists. It does not block and does not
// read the registry, because it is called from the registry's OnChange.
func (b *Bridge) ListChanged(c registry.Change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, kind := range c.Kinds {
		b.changeCounts[registry.IndexOf(kind)].Add(1)
	}
	for _, e := range b.servers {
		if c.Server == "" || e.endpoint.server == "" || e.endpoint.server == c.Server {
			e.announceChanges(c.Kinds)
		}
	}
}

// announceChanges makes the SDK send list_changed by adding and removing a feature; the SDK
// combines several changes into one notification. The feature itself is never listed.
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

// listener receives notifications that belong to no request: a legacy session, or a stream
// that a modern client holds open.
type listener struct {
	endpoint endpoint // as the client requested it, before the visibility is applied
	origin   requestOrigin

	mu       sync.Mutex
	lastSent map[string]revision // by notification
}

// revision identifies a state of a list.
type revision struct{ hash, changes uint64 }

// listeners holds all current listeners. The zero value is ready to use.
type listeners struct {
	mu sync.Mutex
	by map[*mcp.ServerSession]*listener
}

func (ls *listeners) add(ss *mcp.ServerSession, l *listener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.by == nil {
		ls.by = map[*mcp.ServerSession]*listener{}
	}
	ls.by[ss] = l
}

func (ls *listeners) remove(ss *mcp.ServerSession) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.by, ss)
}

func (ls *listeners) find(ss *mcp.ServerSession) *listener {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.by[ss]
}

// addListener adds a listener, with the current revisions of its lists.
func (b *Bridge) addListener(ss *mcp.ServerSession, ep endpoint, origin requestOrigin) {
	l := &listener{endpoint: ep.unscoped(), origin: origin, lastSent: map[string]revision{}}
	for method := range listChangedKinds {
		l.lastSent[method] = b.revision(l, method)
	}
	b.listeners.add(ss, l)
}

// listChangedKinds are the list_changed notifications, each with the kinds that it announces.
var listChangedKinds = map[string][]core.Kind{
	"notifications/tools/list_changed":     {core.Tools},
	"notifications/prompts/list_changed":   {core.Prompts},
	"notifications/resources/list_changed": {core.Resources, core.Templates},
}

var revisionSeed = maphash.MakeSeed()

// revision returns the current revision of a listener's list. For a listener that is limited to
// a profile, changes outside of the profile do not change the revision.
func (b *Bridge) revision(l *listener, method string) revision {
	ep, refusal := b.authorizeEndpoint(l.endpoint, l.origin)
	if refusal != "" {
		return revision{}
	}
	var hash maphash.Hash
	hash.SetSeed(revisionSeed)
	var r revision
	view := b.view(ep, l.origin.token)
	for _, kind := range listChangedKinds[method] {
		_, _ = hash.Write(b.listResult(ep, view, kind))
		if ep.scope == "" {
			r.changes += b.changeCounts[registry.IndexOf(kind)].Load()
		}
	}
	r.hash = hash.Sum64()
	return r
}

// changeCounts counts the announced changes of each kind.
type changeCounts [registry.Kinds]atomic.Uint64

// filterOutgoing drops the notifications about what a listener may not see, and list_changed if
// its own lists have not changed.
func (b *Bridge) filterOutgoing(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "notifications/") && !b.shouldSend(method, req) {
			return nil, nil
		}
		return next(ctx, method, req)
	}
}

func (b *Bridge) shouldSend(method string, req mcp.Request) bool {
	ss, ok := req.GetSession().(*mcp.ServerSession)
	if !ok {
		return true
	}
	_, lists := listChangedKinds[method]
	updated, isUpdate := req.GetParams().(*mcp.ResourceUpdatedNotificationParams)
	if !lists && !isUpdate {
		return true
	}
	if isUpdate {
		// Two servers may offer the same URI, and each listener sees one of them.
		t, ok := b.resolveResource(ss, updated.URI)
		return ok && b.subscriptions.isNotifying(resourceKey{t.Server, updated.URI})
	}
	l := b.listeners.find(ss)
	if l == nil {
		return false // the session has ended, or is not initialized
	}
	now := b.revision(l, method)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lastSent[method] == now {
		return false
	}
	l.lastSent[method] = now
	return true
}
